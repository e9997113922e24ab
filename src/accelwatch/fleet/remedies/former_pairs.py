"""Nodes that a second scheduler holds as well, by a pair that the configuration has no more. Pure."""

from collections.abc import Iterable, Iterator

from accelwatch.remediation.pairing.prefixes import names_before
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.settings import ActionSettings

# Nodes that are named one by one.
_MOST_NAMED = 10


def former_pairs(remedies: Iterable[Remedy], settings: Iterable[ActionSettings]) -> Iterator[str]:
    """For each such scheduler what is held there and what to do: a release would leave it as it is."""
    paired = {entry.also for entry in settings if entry.also}
    nodes_of: dict[str, list[str]] = {}
    for remedy in remedies:
        if remedy.hold is not None:
            for second in names_before(remedy.hold.original) - paired:
                nodes_of.setdefault(second, []).append(remedy.hold.node)
    for second, nodes in sorted(nodes_of.items()):
        named = ", ".join(sorted(nodes)[:_MOST_NAMED])
        more = f" and {len(nodes) - _MOST_NAMED} more" if len(nodes) > _MOST_NAMED else ""
        yield (
            f"{named}{more}: held in {second} as well, which no action of remedy.actions names under "
            f"also any more, so a release leaves our mark there; write also: {second} again until "
            "they are released, or take the marks off by hand"
        )
