"""The terminal itself: what it is sent, what it sends, how it is restored."""
