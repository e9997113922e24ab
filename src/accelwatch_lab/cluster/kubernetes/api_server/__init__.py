"""A stand-in for the API server of Kubernetes 1.37: what the real one answers, from memory.

It serves tests, and labs on machines where the real servers are not installed.
"""
