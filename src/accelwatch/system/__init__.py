"""What the operating system gives: files, processes, the kernel's interfaces, running as a service."""
