"""Which of several hubs leads, as the head line of the dashboard and the hub's first page say it."""

import msgspec


class LeaderNote(msgspec.Struct, frozen=True, kw_only=True):
    """Of hubs that share a journal; a hub that has its own has none."""

    # Name of the hub that leads; empty while none does.
    name: str
    # RFC 3339; null where it is not known.
    since: str | None
    # Whether it is the hub that says so.
    is_this: bool
    # Seconds that this hub's copy of the journal is behind; null where it has none.
    late_s: float | None = None


def leader_text(note: LeaderNote, since: str) -> str:
    """The note as a sentence; `since` is its moment as it is to be shown, empty for none."""
    led = f"has led since {since}" if since else "leads"
    if note.is_this:
        return f"this hub {led}"
    behind = "" if note.late_s is None else f", {note.late_s:.1f} s behind"
    if not note.name:
        return f"no hub leads; this one follows the journal{behind}"
    return f"{note.name} {led}; this hub follows{behind}"
