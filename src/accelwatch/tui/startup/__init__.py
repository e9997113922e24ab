"""What is on the terminal while Textual is being loaded."""
