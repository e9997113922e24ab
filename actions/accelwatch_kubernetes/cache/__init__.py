"""Copies of the cluster's nodes and pods, for looking at all of them; what decides is read anew."""
