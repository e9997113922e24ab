"""From readings to people: rules, their evaluation, incidents, and the delivery of notifications."""
