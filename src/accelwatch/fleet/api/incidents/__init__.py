"""Pages about incidents, what is done about them, and who did what."""
