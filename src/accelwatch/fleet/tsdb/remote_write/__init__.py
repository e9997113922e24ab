"""Remote write 1.0: what the hub gives to a store."""
