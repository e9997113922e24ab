"""Archives of fleets on which nothing is broken: four kinds of work, and the nuisances of every site."""
