"""What scenario files have in common, whoever plays them: the vocabulary of faults and its effects."""
