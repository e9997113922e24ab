"""Slurm's commands: run, shared, and read."""
