"""What is told by POST /v1/evidence and what the hub answers; unknown fields are refused."""

from typing import Literal

import msgspec

from accelwatch.schema.event import Category

Severity = Literal["critical", "warning", "info"]


class NewEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that is told of a node or a device."""

    code: str
    """Such as `disk_failed`; rules ask for `evidence_disk_failed`."""
    node: str = ""
    device: str = ""
    """Name, id, uuid, PCI address or index of a device of the node; a uuid alone is enough."""
    labels: dict[str, str] = {}
    """Instead of both: by some of them (`evidence` of hub.yaml) node and device are found."""
    text: str = ""
    severity: Severity = "warning"
    category: Category = Category.OTHER
    status: Literal["happened", "began", "ended"] = "happened"
    """What began stands until it ends."""
    at: str = ""
    """RFC 3339 with its zone; now if it is left out."""
    key: str = ""
    """By what its end is known; else by source, code, node and device."""


class NewEvidences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told by POST /v1/evidence."""

    source: str
    """Who finds it, such as `nhc`."""
    evidence: tuple[NewEvidence, ...]
    by: str = ""
    """Counts where nobody has to prove who he is, and is marked as unverified."""


class EvidenceTaken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it."""

    accepted: int = msgspec.field(name="taken")
    unplaced: tuple[str, ...]
    """Codes of what is about nobody whom the hub knows; it is not kept."""
    refused: tuple[str, ...]
    """Codes for which there was no room."""
    problem: str
    """Why what stands would not outlive the hub; empty when it would."""


class StandingEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence that stands; times are RFC 3339."""

    key: str
    source: str
    code: str
    node: str
    device: str
    """Id of the device; empty for the node."""
    severity: str
    text: str
    by: str
    since: str
    until: str
    """When it is over if nobody tells of it again."""


class EvidencePage(msgspec.Struct, frozen=True, kw_only=True):
    """What stands, in the order in which it began."""

    active: tuple[StandingEvidence, ...] = msgspec.field(name="standing")
