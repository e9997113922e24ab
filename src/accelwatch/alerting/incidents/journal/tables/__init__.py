"""Tables of a journal beside its entries: how things stand, events evaluated, messages that wait."""
