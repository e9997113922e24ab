"""Evidence about nodes and devices that others sent and that has not expired."""
