"""What Slurm answers: the lines that its commands print, read alike by whoever runs them."""
