"""Bodies and answers of a hub's API, as structs, for the hub and for its clients."""
