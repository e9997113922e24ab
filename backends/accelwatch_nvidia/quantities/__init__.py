"""What NVML reports of a GPU, as tables of calls and fields with the quantities that they are."""
