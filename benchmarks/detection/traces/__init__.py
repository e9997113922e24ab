"""Archives of fleets on which things break, with the truth beside them."""
