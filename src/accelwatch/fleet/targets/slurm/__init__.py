"""The nodes of a Slurm cluster and its reservations, as `scontrol` prints them."""
