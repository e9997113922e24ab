"""What a site says of its cluster: the options of the action."""
