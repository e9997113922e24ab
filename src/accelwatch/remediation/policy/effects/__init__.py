"""What the rows of the state machine do: each effect a function of a transition."""
