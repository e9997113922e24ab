"""A hub of the dashboard's own, in a child process."""
