"""One schema for every accelerator, and the tools that read, export and judge it."""

__version__ = "0.1.0"
