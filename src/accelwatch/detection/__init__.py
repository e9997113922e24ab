"""What all signals of a fleet say together, against peers of the same job and the own past."""
