"""One HTML file about a fleet, for a manager, or about a node, for a vendor's support."""
