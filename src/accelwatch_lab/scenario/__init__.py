"""What scenario files have in common, for every player: the vocabulary of faults and its effects."""
