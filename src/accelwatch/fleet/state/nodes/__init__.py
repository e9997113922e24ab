"""One node: its sources, its devices, whether it is up."""
