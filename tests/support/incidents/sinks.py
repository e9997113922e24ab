"""Building sinks and giving them one notice, as a dispatcher does."""

from typing import Any

from accelwatch.alerting.sink import Notice, Outcome, Sink, SinkContext
from accelwatch.plugins import entry_points as plugins
from support.incidents.notices import NOTICE


def sink(plugin: str, timeout_s: float = 60.0, **options: Any) -> Sink:
    """A sink found by its entry point."""
    context = SinkContext(name="here", options=options, timeout_s=timeout_s)
    made: Sink = plugins.load(plugins.ALERTS, plugin)(context)
    return made


async def delivered(made: Sink, *notices: Notice, reference: str = "") -> list[Outcome]:
    """What became of notices, each with the reference of the one before."""
    outcomes = []
    for one in notices or (NOTICE,):
        outcomes.append(await made.deliver(one, reference))
        reference = outcomes[-1].reference
    await made.close()
    return outcomes
