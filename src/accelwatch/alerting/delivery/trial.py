"""A notice that means nothing, to see whether it arrives."""

import asyncio
import socket
from collections.abc import Collection, Sequence

from accelwatch.alerting.delivery.sinks import built
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Sink, Status
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UsageError
from accelwatch.config.alerts import Alerts, SinkSettings

_GRACE_S = 2.0


async def tried(alerts: Alerts, names: Collection[str], clock: Clock) -> dict[str, Outcome]:
    """What became of a test notice at each of the sinks, all of them without names.

    Raises UsageError for a name that no sink has, ConfigError for one that cannot be built.
    """
    configured = [sink.name for sink in alerts.sinks]
    for name in names:
        if name not in configured:
            raise UsageError(
                f"there is no sink {name!r}; there are {', '.join(configured) or 'none'}"
            )
    chosen = [sink for sink in alerts.sinks if not names or sink.name in names]
    if not chosen:
        raise UsageError("the configuration has no sink below alerts.sinks")
    return await delivered(chosen, trial_notice(clock.wall()), clock)


async def delivered(
    chosen: Sequence[SinkSettings], notice: Notice, clock: Clock
) -> dict[str, Outcome]:
    """What became of one notice at each of the sinks, sent once. Raises ConfigError."""
    sinks = [(built(settings, clock), settings.timeout_s) for settings in chosen]
    outcomes = await asyncio.gather(*(_tried(sink, notice, timeout_s) for sink, timeout_s in sinks))
    return {settings.name: outcome for settings, outcome in zip(chosen, outcomes, strict=True)}


async def _tried(sink: Sink, notice: Notice, timeout_s: float) -> Outcome:
    try:
        async with asyncio.timeout(timeout_s + _GRACE_S):
            return await sink.deliver(notice, "")
    except TimeoutError:
        return Outcome(status=Status.RETRY, message=f"no answer within {timeout_s + _GRACE_S:g} s")
    finally:
        await sink.close()


def trial_notice(now: float) -> Notice:
    """The notice; critical, so that it is routed like an urgent one."""
    host = socket.gethostname()
    return Notice(
        key=f"test-{host}-{now:.0f}",
        sequence=1,
        kind=NoticeKind.TEST,
        severity=Severity.CRITICAL,
        title="this is a test of alerts",
        where=host,
        since=now,
        time=now,
        evidence=("accelwatch alerts test",),
        what_to_do="nothing",
        rule="accelwatch.alerts.test",
        labels={"node": host},
    )
