"""What we write on a node, and by what we know it again. Pure."""
