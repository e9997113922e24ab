"""NPUs and other accelerators, a vendor a module."""
