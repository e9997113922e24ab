"""Where pages about rules are; apart from them, for those who have no rules."""

INCIDENTS = "/v1/incidents"
INCIDENT = "/v1/incidents/"
RULES = "/v1/rules"
EXPLAIN = "/v1/explain"
SILENCES = "/v1/silences"
MAINTENANCE = "/v1/maintenance"
