"""The section `alerts` of a configuration: who is told of incidents, when, and how often."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.config.field_types import Long, Path

Level = Literal["info", "warning", "critical"]
Day = Annotated[float, Meta(ge=0, le=7 * 86_400, extra={"form": "duration"})]
Brief = Annotated[float, Meta(ge=0, le=600, extra={"form": "duration"})]
TimeOfDay = Annotated[str, Meta(extra={"form": "time_of_day"})]
Zone = Annotated[str, Meta(extra={"form": "time_zone"})]
Name = Annotated[str, Meta(extra={"form": "name"})]


class SinkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One receiver."""

    name: Name = ""
    type: str = ""
    """Name of a plug-in: webhook, slack, teams, alertmanager, email, apprise."""
    timeout_s: Long = field(default=10.0, name="timeout")
    """For all of one delivery."""
    options: dict[str, object] = {}
    """The plug-in's own; a key with `_file` behind it names a file that holds the value."""


class QuietHours(msgspec.Struct, frozen=True, kw_only=True):
    """Hours in which what is not urgent waits; without a beginning there are none."""

    start: TimeOfDay = field(default="", name="from")
    end: TimeOfDay = field(default="", name="to")
    zone: Zone = "UTC"
    below: Literal["warning", "critical"] = "critical"
    """The severity from which on nothing waits."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Which incidents go to which receivers."""

    sinks: tuple[str, ...] = ()
    """Names; none for all."""
    min_severity: Level = "warning"
    match: tuple[str, ...] = ()
    """Matchers such as `pool=train` or `rule=~nvidia.*`, all of which must hold."""
    after_s: Day = field(default=0.0, name="after")
    """How long an incident must have been open: 30m makes an escalation of the route."""
    remind_s: Day = field(default=0.0, name="remind")
    """After how long it is said again that an incident is still open; 0 for never."""
    quiet: QuietHours = QuietHours()


class DeadMan(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is asked for as long as all is well, of a service that raises an alarm otherwise."""

    url_file: Path | None = None
    """A file that holds the URL, which is a secret."""
    interval_s: Long = field(default=60.0, name="interval")


class Alerts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about alerts; without a sink nobody is told."""

    hub: str = ""
    """Put before the ids of incidents, where several tell the same receivers; of an agent its host."""
    external_url: str = ""
    """Where people reach who alerts; messages link to the incident there."""
    sinks: tuple[SinkSettings, ...] = ()
    routes: tuple[Route, ...] = ()
    """Without one all sinks are told of what is a warning or worse."""
    storm_wait_s: Brief = field(default=10.0, name="storm_wait")
    """How long a second incident waits that begins right after another, for they may turn out as one."""
    resolve_after_s: Day = field(default=86_400.0, name="resolve_after")
    """How long what is over must stay over before that is notified, but no longer than its rule's
    cooldown; what has come back before must stay over for all of that. With less than the cooldown
    what comes back afterwards rings again."""
    dead_man: DeadMan = DeadMan()
