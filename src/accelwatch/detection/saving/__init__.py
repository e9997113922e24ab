"""What a detector knows, over restarts."""
