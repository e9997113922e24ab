"""The steps that change something in Slurm."""
