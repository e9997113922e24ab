"""A hub's, or a store's, fleet written as a history archive."""
