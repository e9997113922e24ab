"""What is read for an intent besides its node."""
