"""What the rows of the state machine ask before they count: each a function of a transition."""
