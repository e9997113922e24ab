"""Where allocations are read: cgroups, environments, kubelet, Docker, Slurm, files."""
