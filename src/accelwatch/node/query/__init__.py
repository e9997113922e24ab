"""What a device, a process or a device of a fleet answers to a name; and which ones are meant."""
