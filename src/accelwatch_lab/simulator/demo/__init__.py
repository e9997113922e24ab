"""The demo: a rehearsed story on a simulated fleet."""
