"""Requests to several hubs as to one: the hub that each is about, and lists of all hubs."""
