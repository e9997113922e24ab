"""Repeat offenders: devices, slots and nodes whose hardware has failed again and again."""
