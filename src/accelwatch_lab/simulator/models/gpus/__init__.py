"""GPUs, a vendor a module."""
