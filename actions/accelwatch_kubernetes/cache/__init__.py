"""Copies of the cluster's nodes and pods, for polls of all of them; what decides is read anew."""
