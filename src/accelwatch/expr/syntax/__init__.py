"""From text to a syntax tree, within limits, and how an error in it is shown."""
