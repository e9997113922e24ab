"""What sinks send with: requests with a deadline, calls that block, queues, pauses after failures."""
