"""The few widgets that all screens are made of; each paints only the lines that are visible."""
