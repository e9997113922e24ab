"""One backend inside the collector: each of its devices has a turn, and each call a deadline."""
