"""Numbers, words and rows as vendors' commands print them."""
