"""One run of a program: started alone in its group, bounded, and ended with all it started."""
