"""The Fleet screen: what it is fed with, how it is counted up, sorted and drawn."""
