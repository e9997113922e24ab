"""Plug-ins by entry point, and the options of each."""
