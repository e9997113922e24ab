"""This machine: its devices are read, stored, and set beside jobs, users and the topology."""
