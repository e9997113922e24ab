"""The cells of a row of the fleet, by what they show."""
