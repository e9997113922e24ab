"""What the rows of the state machine ask before they count: each condition a function of a scene."""
