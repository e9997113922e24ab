"""Parts of screens made from the board: headers, lists, graphs."""
