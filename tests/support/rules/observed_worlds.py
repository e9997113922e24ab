"""What is known at a tick of all who are in a world, as a rule's sleep follows from it."""

from collections.abc import Iterable

from accelwatch.alerting.rules.dormancy import Observed
from accelwatch.alerting.rules.testing.world import World
from accelwatch.node.query.lookup import STATUS_SERIES
from accelwatch.schema.metrics import Series


def observed(world: World, series: Iterable[Series], reported: set[Series]) -> Observed:
    """Of `series`, absent are those that are not in `reported`, to which the values of now are added."""
    for member in world.members.values():
        reported.update(member.values)
    vendors = {member.fields.get("vendor") for member in world.members.values()} - {None}
    return Observed(
        now=world.now,
        absent=frozenset(series) - reported - STATUS_SERIES,
        vendors=tuple(sorted(map(str, vendors))),
        newest=lambda pattern: max(
            history.events.newest(pattern) for history in world.histories.values()
        ),
    )
