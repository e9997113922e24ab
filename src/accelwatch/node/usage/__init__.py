"""Who uses which device: load, memory, energy and idle time, integrated by user and by job. Pure."""
