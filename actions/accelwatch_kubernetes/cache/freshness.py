"""Whether a copy may be believed. Pure; times are monotonic seconds."""

# A watch of a quiet collection sends a bookmark about each minute: two of them are missing.
_SILENT_S = 120.0
# How long a broken watch is tried again before what it last showed counts no more: three polls.
_BROKEN_S = 15.0


def why_stale(
    what: str,
    confirmed_at: float | None,
    failing_since: float | None,
    complaint: str,
    now: float,
) -> str:
    """Why the copy of some objects is not how things stand; empty where it is.

    `complaint` is what was last wrong with it.
    """
    reason = f": {complaint}" if complaint else ""
    if confirmed_at is None:
        return f"the {what} are not all read yet{reason}"
    if failing_since is not None and now - failing_since > _BROKEN_S:
        return f"the {what} have not been followed for {now - failing_since:.0f} s{reason}"
    if now - confirmed_at > _SILENT_S:
        return f"no update of the {what} for {now - confirmed_at:.0f} s{reason}"
    return ""
