"""What `accelwatch demo` plays: a busy fleet in which faults appear over a minute, and come again.

Nodes are chosen by their index in the list. In a small fleet one node has several faults of its devices,
and faults of whole nodes are left out, so that something stays to be seen.
"""

from collections.abc import Iterator, Sequence

import msgspec

from accelwatch.schema.event import Category
from accelwatch_lab.scenario.faults import NODE_KINDS, FaultKind
from accelwatch_lab.simulator.jobs import Job
from accelwatch_lab.simulator.nodes import Node
from accelwatch_lab.simulator.scenario import NodeFault, NodeFaultSpec, Scenario

RACK_SIZE = 8
# From so many nodes on whole nodes fail too.
_MANY = 8
# The jobs have been running for half an hour, so that nothing warms up.
_JOBS_STARTED_S = -1800.0
# From then on every fault has appeared.
ALL_THERE_S = 62.0
# The index of the node that accepts and answers nothing.
_HUNG = 4
# After this the faults that heal come again.
_ROUND_S = 240.0


class DemoEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that the dashboard announces before it appears."""

    at_s: float
    # What is announced, as in `in 8 s ...`.
    coming: str
    # Whether a whole node fails, which happens in a fleet that is large enough only.
    of_nodes: bool = False


# The faults below that are the easiest to see, in their order.
EVENTS = (
    DemoEvent(at_s=9, coming="a device falls off the bus"),
    DemoEvent(at_s=18, coming="a driver call hangs"),
    DemoEvent(at_s=22, coming="a device has an uncorrectable memory error"),
    DemoEvent(at_s=28, coming="a node stops answering", of_nodes=True),
    DemoEvent(at_s=35, coming="a device becomes slow and holds up its job"),
    DemoEvent(at_s=46, coming="links of a device go down"),
    DemoEvent(at_s=52, coming="a node goes down", of_nodes=True),
)


def demo_events(node_count: int) -> tuple[DemoEvent, ...]:
    """Those that appear in a fleet of so many nodes."""
    return tuple(event for event in EVENTS if node_count >= _MANY or not event.of_nodes)


def hung_nodes(names: Sequence[str]) -> frozenset[str]:
    """Those of a fleet that accept and answer nothing once every fault has appeared."""
    return frozenset(names[_HUNG : _HUNG + 1] if len(names) >= _MANY else ())


class _FaultBuilder:
    """Faults on nodes by their index in the list."""

    def __init__(self, nodes: Sequence[Node], elapsed_s: float) -> None:
        self._nodes = nodes
        self._elapsed_s = elapsed_s

    def fault(
        self,
        position: int,
        at_s: float,
        lasts_s: float | None,
        *,
        device: int | None = None,
        **spec: object,
    ) -> Iterator[NodeFault]:
        """A fault that comes again, or with no end one that stays."""
        node = self._nodes[position % len(self._nodes)]
        fields: dict[str, object] = {**spec, "nodes": "*"}
        if device is not None:
            fields["device"] = device % len(node.units)
        yield NodeFault(
            spec=NodeFaultSpec(**fields),  # type: ignore[arg-type]  # rows of the table below
            nodes=(node.name,),
            at_s=at_s - self._elapsed_s,
            lasts_s=lasts_s,
            every_s=None if lasts_s is None else _ROUND_S,
        )

    def xid(
        self, position: int, at_s: float, lasts_s: float | None, *, device: int, **spec: object
    ) -> Iterator[NodeFault]:
        """What the driver of NVIDIA says of a device; others say nothing of the kind."""
        if self._nodes[position % len(self._nodes)].vendor == "nvidia":
            yield from self.fault(
                position, at_s, lasts_s, device=device, kind=FaultKind.EVENT, **spec
            )


def rehearsal(nodes: Sequence[Node], elapsed_s: float = 0.0) -> Scenario:
    """The scenario for a fleet of these nodes, `elapsed_s` ago."""
    builder = _FaultBuilder(nodes, elapsed_s)
    kind = FaultKind
    faults = (
        *builder.fault(2, 6, 150, device=5, kind=kind.THROTTLE, factor=0.55),
        *builder.xid(
            15, 8, None, device=6, code="xid_79", category=Category.BUS,
            text="GPU has fallen off the bus",
        ),
        *builder.fault(15, 9, None, device=6, kind=kind.LOST),
        *builder.xid(
            5, 14, 180, device=1, code="xid_31", category=Category.APPLICATION, text="MMU fault",
        ),
        *builder.fault(10, 18, 120, device=3, kind=kind.HANG),
        *builder.fault(1, 22, 100, device=4, kind=kind.ECC, severity="uncorrected", count=1),
        *builder.fault(_HUNG, 28, 60, kind=kind.NODE_HUNG),
        *builder.fault(7, 35, None, device=2, kind=kind.STRAGGLER, factor=0.5),
        *builder.fault(16, 46, 150, device=0, kind=kind.LINK_DOWN, count=2),
        *builder.fault(19, 52, 120, kind=kind.NODE_DOWN),
    )  # fmt: skip
    played = tuple(
        fault for fault in faults if len(nodes) >= _MANY or fault.spec.kind not in NODE_KINDS
    )
    return Scenario(rack_size=RACK_SIZE, jobs=_jobs([node.name for node in nodes]), faults=played)


def _jobs(names: Sequence[str]) -> tuple[Job, ...]:
    """Four jobs that share the fleet, and an eighth of it idle."""
    shares = (
        ("pretraining", "4711", "train", "research", 4, 0.93, 0.86),
        ("finetuning", "4718", "train", "language", 2, 0.84, 0.62),
        ("serving", "4722", "serve", "platform", 1, 0.41, 0.74),
        ("evaluation", "4725", "batch", "quality", 0, 0.58, 0.35),
    )
    total = len(names)
    jobs: list[Job] = []
    start = 0
    for name, id_, queue, user, eighths, load, memory in shares:
        count = max(1, total * eighths // 8) if eighths else max(1, total // 16)
        nodes = tuple(names[start : start + count])
        start += count
        if nodes:
            job = Job(
                name=name, id=id_, nodes=nodes, user=user, queue=queue, at_s=_JOBS_STARTED_S, load=load,
                memory=memory, account=user, command=f"python3 {name}.py",
            )  # fmt: skip
            jobs.append(job)
    return tuple(jobs)
