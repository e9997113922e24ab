"""Numbers of all devices as columns: stable rows, what stands in them now, closed buckets.

numpy is loaded here and above, in the hub; an agent and the commands of one node never load it.
"""
