"""A history archive as the source of a fleet's picture: any moment of it, played, stepped, sought."""
