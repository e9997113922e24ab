"""Detection beside rules: frames out of a hub's table or an archive, and findings as people get them."""
