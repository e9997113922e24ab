"""The demo: a rehearsed scenario on a simulated fleet."""
