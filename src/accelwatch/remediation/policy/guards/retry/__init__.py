"""When a job may be restarted without a person, and the history of its runs that says so."""
