"""What all screens share: the board, and the table of actions and their keys."""
