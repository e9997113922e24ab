"""Where pages about rules are; apart from them, for those who have no rules."""

from urllib.parse import unquote

INCIDENTS = "/v1/incidents"
INCIDENT = "/v1/incidents/"
RULES = "/v1/rules"
EXPLAIN = "/v1/explain"
SILENCES = "/v1/silences"
MAINTENANCE = "/v1/maintenance"
_CLOSE = "/close"


def methods_of_silences(path: str) -> tuple[str, ...]:
    """The methods that a page of silences, maintenance or closing takes; empty for other paths."""
    if path in (SILENCES, MAINTENANCE):
        return ("GET", "HEAD", "POST")
    if id_below(SILENCES, path) or id_below(MAINTENANCE, path):
        return ("DELETE",)
    return ("POST",) if to_close(path) else ()


def id_below(base: str, path: str) -> str:
    """The id in `/v1/silences/s3`; empty for other paths."""
    rest = path.removeprefix(f"{base}/")
    return unquote(rest) if rest != path and rest and "/" not in rest else ""


def to_close(path: str) -> str:
    """The id in `/v1/incidents/i3/close`; empty for other paths."""
    if path.startswith(INCIDENT) and path.endswith(_CLOSE):
        return path.removeprefix(INCIDENT).removesuffix(_CLOSE)
    return ""
