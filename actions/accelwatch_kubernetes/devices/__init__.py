"""Single devices of a node: which of a driver's they are, and the rules that taint them."""
