"""Detectors that are not ours, over an archive read as ours reads it, to compare ours with."""
