"""What a hub does about incidents: its fleet and its rules in the words of `accelwatch.remediation`.

`hearing` says what is seen of nodes, `runner` has the engine told of that and of incidents.
"""
