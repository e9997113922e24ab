"""The state machine as a table: conditions and effects of its rows."""
