"""What the API of a hub takes and answers, as structs, for the hub and for its clients."""
