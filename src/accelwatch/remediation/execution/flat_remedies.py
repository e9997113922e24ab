"""Remedies as the journals of 0.1 have them, with all fields on one level: put into today's form.

Only the reading is here: what is written has the form of today.
"""

import msgspec

# The journal's kind of what may have that form.
KIND = "remedy"
# Fixed for ever: the names that 0.1 wrote, whatever the fields are called by now.
_LIVES = {
    "clocks": ("since", "due", "begun", "overdue"),
    "approval": (
        *("manual", "wanted_out", "vouched", "forced", "approved", "approved_plan"),
        *("expired", "asked", "asked_steps", "asked_as_of"),
    ),
    "jobs": (
        *("signalled", "signalled_at", "handled", "unswapped", "looked_for", "lost", "lost_at"),
        *("moved", "unfinished", "spare", "spareless", "spare_asked"),
        *("fenced", "stranded", "fence_first", "hanging"),
    ),
    "repair": (
        *("attempts", "rung", "left_out", "ticketed", "unfit", "verification"),
        *("relapses", "serials"),
    ),
}


class _Body(msgspec.Struct):
    type: str
    node: str
    remedy: dict[str, msgspec.Raw] | None


def nested(body: bytes) -> bytes:
    """The body of a record in today's form. Raises msgspec.MsgspecError for what is no such body."""
    record = msgspec.json.decode(body, type=_Body)
    if record.remedy is None or "clocks" in record.remedy:
        return body
    flat = record.remedy
    for life, names in _LIVES.items():
        fields = {name: flat.pop(name) for name in names if name in flat}
        flat[life] = msgspec.Raw(msgspec.json.encode(fields))
    return msgspec.json.encode(record)
