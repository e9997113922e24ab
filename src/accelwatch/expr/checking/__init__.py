"""From a syntax tree to a typed tree: names, types and calls are checked."""
