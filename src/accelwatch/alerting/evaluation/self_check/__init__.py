"""Whether the process that evaluates rules can do its work, and who is notified when it cannot."""
