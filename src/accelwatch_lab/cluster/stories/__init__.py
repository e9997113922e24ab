"""Stories that are played on the cluster, and the signs by which their steps are seen."""
