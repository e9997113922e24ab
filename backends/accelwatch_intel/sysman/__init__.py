"""Level Zero Sysman: its library, called by ctypes, and what it adds to a card."""
