"""How our hold on a node is written and known again: its reason, and a JSON key in a field. Pure.

The reason is for people. Most Slurms drop it when a person resumes the node, 24.11 keeps it: it counts
only while the node accepts no work. The key stays, so a node that accepts work and still has it was
resumed by a person.
"""

import json
import re
from functools import lru_cache
from typing import Any

import msgspec

from accelwatch.action.intent import MOST_REASON, Intent, OwnerAnnotation
from accelwatch_slurm.texts.node_text import SlurmNode

_PREFIX = "accelwatch"
_OURS = re.compile(rf"{_PREFIX}:([^:\s]+):")
# What Slurm itself adds to a reason.
_SLURMS_OWN = re.compile(
    r"( : (?:reboot (?:issued|requested|complete|timed out)"
    r"|Not responding|Node unexpectedly rebooted))+$"
)
# Second word of the reason of a node that we set down.
FENCED = "fenced"


class NodeAnnotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands under our key."""

    # Incident.
    i: str
    # Token of the engine that set it.
    t: int
    # Unix seconds, by our clock.
    since: float
    by: str = _PREFIX
    # The node's boot before it was fenced or rebooted.
    boot: float | None = None
    # Start of its slurmd before it was fenced.
    slurmd: float | None = None
    # The intent whose doing boot or result is of.
    asked: float | None = None
    # What a test came to: `pass`, or in words why it did not.
    result: str = ""
    # What it has measured, where it measures.
    value: float | None = None
    unit: str = ""


def reason_of(intent: Intent, *, fenced: bool = False) -> str:
    """The reason of our hold, in at most MOST_REASON characters of printable ASCII."""
    incident, rule = (re.sub(r"[^\w.\-]", "_", text, flags=re.ASCII) for text in _names(intent))
    reason = f"{_PREFIX}:{incident}:{rule} {f'{FENCED} ' if fenced else ''}{intent.reason}"
    plain = "".join(char if char.isascii() and char.isprintable() else "?" for char in reason)
    return plain[:MOST_REASON].strip()


def _names(intent: Intent) -> tuple[str, str]:
    return intent.mark.incident, intent.rule


def incident_in(reason: str) -> str:
    """The incident of a reason that is ours; empty for any other."""
    match = _OURS.match(reason)
    return match[1] if match else ""


def without_suffix(reason: str) -> str:
    """A reason as it was set, without what Slurm added."""
    return _SLURMS_OWN.sub("", reason)


def has_old_reason(node: SlurmNode) -> bool:
    """Whether a node that accepts work still bears a reason of ours."""
    return not node.drained and not node.down and bool(incident_in(node.reason))


def is_down_after_release(node: SlurmNode, field: str) -> bool:
    """Whether Slurm has set a node down that still bears a reason of ours, but is not held by us.

    A node that we hold has our key, unless its field is not ours to write.
    """
    if node.drained or not node.down or field == "none":
        return False
    text = field_of(node, field)
    by_slurm = node.reason.endswith((" : Not responding", " : Node unexpectedly rebooted"))
    return by_slurm and annotation_in(text) is None and merged(text, None) is not None


def is_fenced(reason: str) -> bool:
    """Whether the reason says that we set the node down."""
    return bool(incident_in(reason)) and reason.split()[1:2] == [FENCED]


def field_of(node: SlurmNode, field: str) -> str:
    """Text of the field that keeps our key."""
    return {"extra": node.extra, "comment": node.comment}.get(field, "")


# By the text, so an entry is never out of date: another text is another key.
@lru_cache(maxsize=4096)
def annotation_in(text: str) -> NodeAnnotation | None:
    """What stands under our key in the text of a field; None when nothing does.

    A node's field is read in every poll and several times for each step, and seldom another.
    """
    try:
        return msgspec.convert(_object(text).get(_PREFIX), NodeAnnotation | None)
    except msgspec.ValidationError:
        return None


def merged(text: str, annotation: NodeAnnotation | None) -> str | None:
    """The field's text with our key set, or without it; None where others keep no JSON object there."""
    if text and not _object(text) and text.strip() != "{}":
        return None
    others = {key: value for key, value in _object(text).items() if key != _PREFIX}
    if annotation is not None:
        others[_PREFIX] = msgspec.to_builtins(annotation)
    return json.dumps(others, separators=(",", ":")) if others else ""


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def annotation_of(node: SlurmNode, field: str) -> OwnerAnnotation | None:
    """Our mark of a node that is held with our reason, or whose field has our key; else None."""
    annotation = annotation_in(field_of(node, field))
    incident = "" if has_old_reason(node) else incident_in(node.reason)
    if annotation is not None and incident in ("", _safe(annotation.i)):
        return OwnerAnnotation(annotation.i, annotation.t, annotation.by)
    return OwnerAnnotation(incident, 0) if incident else None


def is_of(annotation: NodeAnnotation, reason: str) -> bool:
    """Whether a key and a reason are of the same incident."""
    return _safe(annotation.i) == incident_in(reason)


def _safe(incident: str) -> str:
    return re.sub(r"[^\w.\-]", "_", incident, flags=re.ASCII)
