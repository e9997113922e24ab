"""A simulated fleet: many agents of one process whose every value is a function of seed and time."""
