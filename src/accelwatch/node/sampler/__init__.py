"""Reading devices: workers with deadlines in a child process that may crash, and its supervisor."""
