"""Our own page, read back."""
