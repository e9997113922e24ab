"""Objects of the API server, with the fields that are read."""
