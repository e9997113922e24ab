"""What a detector knows, in a file of a hub or an agent."""
