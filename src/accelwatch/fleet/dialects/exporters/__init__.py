"""The exporters of others, a table each."""
