"""From one moment to the next: observations, commands, timers and results become decisions."""
