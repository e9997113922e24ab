"""Where pages about rules are; apart from them, for those who have no rules."""

INCIDENTS = "/v1/incidents"
RULES = "/v1/rules"
EXPLAIN = "/v1/explain"
SILENCES = "/v1/silences"
MAINTENANCE = "/v1/maintenance"
_OF_RULES = (INCIDENTS, RULES, EXPLAIN, SILENCES, MAINTENANCE)


def is_about_rules(path: str) -> bool:
    """Whether a page is one of those, or below one."""
    return any(path == recognised or path.startswith(f"{recognised}/") for recognised in _OF_RULES)
