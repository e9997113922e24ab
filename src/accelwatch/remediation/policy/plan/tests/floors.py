"""How much a test has to measure: what the site says, else a share of its peers' median. Pure."""

import statistics
from collections.abc import Collection
from typing import NamedTuple

from accelwatch.remediation.policy.context.views import CaseView
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind

_UNITS = {"bytes_per_second": (1e9, "GB/s")}


class Floor(NamedTuple):
    """The least figure, and whose it is."""

    value: float
    # A base unit; empty where the test names none.
    unit: str
    # For people.
    text: str
    # Whether it is a share of the figures of other nodes.
    by_peers: bool = False


def floor_of(ctx: CaseView, test: str, node: str, without: Collection[str] = ()) -> Floor | Denial:
    """The floor of a test that measures. `node` is the hub's name, `without` has any.

    What a node has measured itself says nothing of how much it should, and neither does what others
    have measured with it.
    """
    settings = ctx.settings.test_settings(test)
    status = ctx.node_status(node)
    model = "" if status is None else status.model
    if model in settings.floors:
        floor = settings.floors[model]
        return Floor(floor.value, floor.unit, f"set for {model}")
    named = model or "nodes whose model is not known"
    if not settings.share:
        text = f"{test} has no floor for {named}; add the model to floors of remedy.tests"
        return Denial(why=DenialKind.NO_FLOOR, text=text)
    apart = {node, *without}
    figures = [
        run.figure
        for name, tests in ctx.state.tests.items()
        if name not in apart
        and (run := tests.runs.get(test)) is not None
        and run.figure is not None
        and run.figure.model == model
        and run.figure.peer not in apart
    ]
    # A test that measures something else since a change says nothing with what it measured before.
    unit = max(figures, key=lambda figure: figure.at).unit if figures else ""
    values = [figure.value for figure in figures if figure.unit == unit]
    if len(values) < settings.least_nodes:
        text = (
            f"{test} has no floor for {named} yet: {len(values)} other nodes of it have measured, "
            f"{settings.least_nodes} have to; idle nodes are tested in turn, or write a floor"
        )
        return Denial(why=DenialKind.NO_FLOOR, text=text)
    share = f"{settings.share * 100:g} %"
    return Floor(
        settings.share * statistics.median(values),
        unit,
        f"{share} of the median of {len(values)} nodes",
        by_peers=True,
    )


def figure_text(value: float, unit: str) -> str:
    """`46.8 GB/s`; as it is in a unit that has no usual other one."""
    factor, shown = _UNITS.get(unit, (1.0, unit.replace("_", " ")))
    return f"{value / factor:.4g} {shown}".strip()
