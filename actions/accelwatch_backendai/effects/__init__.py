"""Steps that change something, each in one request."""
