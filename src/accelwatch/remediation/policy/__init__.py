"""What is decided about a node. Pure: no clock, network, chance or database."""
