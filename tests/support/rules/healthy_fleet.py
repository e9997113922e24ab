"""An hour of a fleet on which nothing is wrong, and what rules made of it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.document import Severity
from accelwatch_lab.simulator.exporters import dcgm, node_exporter
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import FleetSize, Node
from support.rules.simulated_hub import START, ProvingGround, Write, played

SCENARIO = Path(__file__).parents[3] / "fixtures/fleet/simulator/healthy-hour.yaml"
SECONDS = 3600.0
# What was announced of the rack that is worked on.
WINDOW = Maintenance(
    id="m1",
    nodes=tuple(f"n{at:03d}" for at in range(49, 57)),
    starts=START + 18 * 60.0,
    ends=START + 45 * 60.0,
    by="ada",
    reason="new fans",
)


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    """What was opened: for no reason, in the announced window, and as a note."""

    serious: list[Incident]
    announced: list[Incident]
    notes: list[Incident]
    problems: tuple[str, ...]


def dcgm_page(fleet: Fleet, node: Node, now: Instant) -> bytes:
    """dcgm-exporter up to 4.8, which is what most sites have."""
    return dcgm.text(fleet, node, now, legacy=True).encode()


def node_page(fleet: Fleet, node: Node, now: Instant) -> bytes:
    """node_exporter beside it."""
    return node_exporter.text(fleet, node, now).encode()


EXPORTERS: tuple[Write, ...] = (dcgm_page, node_page)


async def healthy_hour(
    size: FleetSize,
    folder: Path | None,
    interval_s: float,
    exporters: Sequence[Write] = (),
    seconds: float = SECONDS,
) -> Hour:
    """Play it through all packs."""
    ground = ProvingGround(
        size, played(SCENARIO), folder, interval_s=interval_s, exporters=exporters
    )
    await ground.runner.start()
    await ground.play(seconds)
    problems = ground.runner.problems
    await ground.runner.stop()
    announced = [one for one in ground.serious if WINDOW.covers(one.nodes, one.opened)]
    return Hour(
        serious=[one for one in ground.serious if one not in announced],
        announced=announced,
        notes=[one for one in ground.known if one.severity is Severity.INFO],
        problems=problems,
    )
