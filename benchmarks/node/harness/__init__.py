"""What benchmarks of a node share: its processes, a terminal to run them in, and runs in turn."""
