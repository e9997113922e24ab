"""What an archive says of a moment: nodes, devices, jobs, events."""
