"""The state machine as a table, and how a remedy goes by it."""
