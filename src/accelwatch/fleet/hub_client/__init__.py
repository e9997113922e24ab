"""The fleet as a dashboard follows it: a client of a hub's stream, and a hub of the dashboard's own."""
