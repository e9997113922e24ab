"""What another tool says of a node, before it is known whether the hub has such a node."""

import msgspec

from accelwatch.fleet.documents.evidence import Severity


class ReportedProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A tool calls a node, or a device of it, bad."""

    # Which tool, such as `nvsentinel`; rules know it as `subject`.
    source: str
    # Such as `GpuMemWatch`; rules read `evidence_GpuMemWatch`.
    code: str
    severity: Severity
    text: str
    # Uuid, PCI address or index of a device; empty for the node.
    device: str = ""
    # Unix seconds since when the tool says so; None where it does not say.
    since: float | None = None
    # What the tool keeps it in, such as `condition GpuMemWatch`: of one node and device, unique.
    path: str


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that other tools say of a node now."""

    node: str
    # Further names and addresses by which the hub may know it.
    names: tuple[str, ...] = ()
    problems: tuple[ReportedProblem, ...] = ()
    # Paths of which the tool itself does not know: what was active there neither ends nor begins.
    undecided: frozenset[str] = frozenset()
