"""The body of POST /v1/evidence and the hub's answer; unknown fields are refused."""

from typing import Literal

import msgspec

from accelwatch.schema.event import Category

Severity = Literal["critical", "warning", "info"]


class NewEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One piece of evidence on a node or a device."""

    # Such as `disk_failed`; rules read `evidence_disk_failed`.
    code: str
    node: str = ""
    # Name, id, uuid, PCI address or index of a device of the node; a uuid alone is enough.
    device: str = ""
    # Instead of both: by some of them (`evidence` of hub.yaml) node and device are found.
    labels: dict[str, str] = {}
    text: str = ""
    severity: Severity = "warning"
    category: Category = Category.OTHER
    # What began stands until it ends.
    status: Literal["happened", "began", "ended"] = "happened"
    # RFC 3339 with its zone; now if it is left out.
    at: str = ""
    # By what its end is known; else by source, code, node and device.
    key: str = ""


class NewEvidences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/evidence."""

    # Who finds it, such as `nhc`.
    source: str
    evidence: tuple[NewEvidence, ...]
    # Counts where nobody has to prove who he is, and is marked as unverified.
    by: str = ""


class EvidenceTaken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it."""

    accepted: int = msgspec.field(name="taken")
    # Codes of what is about nobody whom the hub knows; it is not kept.
    unplaced: tuple[str, ...]
    # Codes for which there was no room.
    refused: tuple[str, ...]
    # Why what stands would not outlive the hub; empty when it would.
    problem: str


class StandingEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence that stands; times are RFC 3339."""

    key: str
    source: str
    code: str
    node: str
    # Id of the device; empty for the node.
    device: str
    severity: str
    text: str
    by: str
    since: str
    # When it is over if nobody pushes it again.
    until: str


class EvidencePage(msgspec.Struct, frozen=True, kw_only=True):
    """What stands, in the order in which it began."""

    active: tuple[StandingEvidence, ...] = msgspec.field(name="standing")
