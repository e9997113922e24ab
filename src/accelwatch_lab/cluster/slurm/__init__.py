"""A real Slurm on loopback, without root."""
