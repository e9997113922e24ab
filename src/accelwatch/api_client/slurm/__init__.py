"""What Slurm answers: the lines that its commands print, parsed alike for every caller."""
