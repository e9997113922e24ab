"""Conditions of the rows of the state machine: each a function of a transition."""
