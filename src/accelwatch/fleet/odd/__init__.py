"""Nodes whose driver, firmware, kernel or agent differs from that of the many alike."""
