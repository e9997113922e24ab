"""The GPUs through NVML: who is there, one reader a GPU, MIG instances and processes."""
