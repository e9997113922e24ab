"""Histories as graphs: of a device, of a fleet, of an incident."""
