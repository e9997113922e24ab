"""NVML itself: typed calls of the library, what they return, and its events."""
