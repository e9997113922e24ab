"""Two schedulers over the same machines, as one action: their marks are set and removed together."""
