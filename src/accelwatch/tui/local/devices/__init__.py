"""Devices of one machine as rows, cells and facts."""
