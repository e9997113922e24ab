"""Selecting, grouping and writing devices and events of the fleet for the pages."""
