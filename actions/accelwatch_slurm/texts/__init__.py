"""What Slurm prints and what we write into it: nodes, jobs, reservations, marks. Pure."""
