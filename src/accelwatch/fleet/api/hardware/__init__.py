"""Pages about hardware: offenders, and what differs from most."""
