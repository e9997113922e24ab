"""Which nodes of two schedulers are the same machine, and how such a node is shown. Pure."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from accelwatch.action.observed import HoldState, NodeObservation

# A property of a node; empty where it has none.
Key = Callable[[NodeObservation], str]
_GONE = (HoldState.MISSING, HoldState.DOWN)


class SharedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of both, as their latest polls have shown them."""

    # The second scheduler's name of a machine, by the first's.
    names: Mapping[str, str] = {}
    # Nodes that only the second has.
    others: frozenset[str] = frozenset()

    @property
    def first_names(self) -> Mapping[str, str]:
        """The first scheduler's name of a machine, by the second's."""
        return {theirs: ours for ours, theirs in self.names.items()}


def shared_nodes(
    first: Sequence[NodeObservation], second: Sequence[NodeObservation]
) -> SharedNodes:
    """By the machine's firmware, else by name, else by the address by which it is reached.

    A value that two different nodes have in common (an empty serial, an address) proves nothing.
    """
    names: dict[str, str] = {}
    left = {node.name: node for node in second}
    for key in (_uuid, _name, _address):
        by_key = _unique(list(left.values()), key)
        own = _unique([node for node in first if node.name not in names], key)
        for value, name in own.items():
            if value in by_key:
                names[name] = by_key[value]
                del left[by_key[value]]
    return SharedNodes(names=names, others=frozenset(left))


def _uuid(node: NodeObservation) -> str:
    return node.system_uuid.lower()


def _name(node: NodeObservation) -> str:
    return node.name


def _address(node: NodeObservation) -> str:
    return node.address


def _unique(nodes: Sequence[NodeObservation], key: Key) -> dict[str, str]:
    """Names by a property, of those that have it alone."""
    by_key: dict[str, list[str]] = {}
    for node in nodes:
        by_key.setdefault(key(node), []).append(node.name)
    return {value: names[0] for value, names in by_key.items() if value and len(names) == 1}


def merged(first: NodeObservation, second: NodeObservation, second_name: str) -> NodeObservation:
    """A machine as both show it, under the first's name; what only the first has is the first's.

    Where one of two holds of ours is gone, what is left is undone by a person, unless the node is new
    there, recreated or never marked: without our annotation the engine decides by the incarnation,
    which names the second as well (`plan.state_loss`).
    """
    state = _merged_state(first.hold_state, second.hold_state)
    shown = first if first.hold_state is state or second.hold_state is not state else second
    is_half = {first.hold_state, second.hold_state} == {HoldState.OURS, HoldState.OPEN}
    lost_in = second_name if second.hold_state is HoldState.OPEN else "the other scheduler"
    is_there = second.hold_state is not HoldState.MISSING
    incarnation = f"{second_name}/{second.incarnation}" if is_there else ""
    return msgspec.structs.replace(
        first,
        hold_state=state,
        annotation=None if is_half else shown.annotation,
        reason=shown.reason,
        set_by=shown.set_by,
        set_at=shown.set_at,
        undone=f"{lost_in} shows no hold of ours any more" if is_half else shown.undone,
        incarnation=f"{first.incarnation} {incarnation}".strip(),
        boot_id=first.boot_id or second.boot_id,
        system_uuid=first.system_uuid or second.system_uuid,
        jobs=(*first.jobs, *second.jobs),
        restartable=first.restartable | second.restartable,
        owners={**second.owners, **first.owners},
    )


def without_answer(
    first: NodeObservation, latest: NodeObservation | None, second_name: str
) -> NodeObservation:
    """A machine while the second does not answer; `latest` is what it has shown last, if anything.

    Its jobs have not left because it is silent, and more may have come.
    """
    if latest is None:
        return msgspec.structs.replace(first, jobs_missing=second_name)
    return msgspec.structs.replace(
        first,
        jobs=(*first.jobs, *latest.jobs),
        restartable=first.restartable | latest.restartable,
        owners={**latest.owners, **first.owners},
        jobs_missing=second_name,
    )


def _merged_state(first: HoldState, second: HoldState) -> HoldState:
    """What the first shows, unless it is open there and the second keeps work away."""
    if first is not HoldState.OPEN or second in _GONE:
        return first
    return second
