"""What Linux reports of devices: sysfs, procfs, PCI, device nodes, and codes of drivers in its log."""
