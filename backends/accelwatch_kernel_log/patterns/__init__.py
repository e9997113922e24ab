"""Messages of drivers and of the kernel: a table of patterns for each."""
