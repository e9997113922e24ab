"""From the words of a command line to the command that runs."""
