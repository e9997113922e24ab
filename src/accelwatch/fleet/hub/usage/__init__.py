"""Who uses the fleet's devices: what each node shows, and the ledger of a hub."""
