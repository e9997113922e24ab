"""What an intent needs besides its agent."""
