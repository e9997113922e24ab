"""The section `alerts` of a configuration: who is notified of incidents, when, and how often."""

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
    # Name of a plug-in: webhook, slack, teams, alertmanager, email, kubernetes, apprise.
    type: str = ""
    # For all of one delivery.
    timeout_s: Long = field(default=10.0, name="timeout")
    # The plug-in's own; a key with `_file` behind it names a file that holds the value.
    options: dict[str, object] = {}


class QuietHours(msgspec.Struct, frozen=True, kw_only=True):
    """Hours in which what is not urgent waits; without a beginning there are none."""

    start: TimeOfDay = field(default="", name="from")
    end: TimeOfDay = field(default="", name="to")
    zone: Zone = "UTC"
    # The severity from which on nothing waits.
    below: Literal["warning", "critical"] = "critical"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Which incidents go to which receivers."""

    # Names; none for all.
    sinks: tuple[str, ...] = ()
    min_severity: Level = "warning"
    # Matchers such as `pool=train` or `rule=~nvidia.*`, all of which must hold.
    match: tuple[str, ...] = ()
    # How long an incident must have been open: 30m makes an escalation of the route.
    after_s: Day = field(default=0.0, name="after")
    # Interval of the reminders that an incident is still open; 0 for never.
    remind_s: Day = field(default=0.0, name="remind")
    quiet: QuietHours = QuietHours()


class DeadMan(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is requested as long as all is well; its service raises an alarm otherwise."""

    # A file that holds the URL, which is a secret.
    url_file: Path | None = None
    interval_s: Long = field(default=60.0, name="interval")


class Alerts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about alerts; without a sink nobody is notified."""

    # Put before the ids of incidents, where several notify the same receivers; of an agent its host.
    hub: str = ""
    # Where people reach who alerts; messages link to the incident there.
    external_url: str = ""
    sinks: tuple[SinkSettings, ...] = ()
    # Without one all sinks are notified of warnings and worse.
    routes: tuple[Route, ...] = ()
    # How long a second incident waits that begins right after another, for they may turn out as one.
    storm_wait_s: Brief = field(default=10.0, name="storm_wait")
    # How long what is over must stay over before that is notified, but no longer than its rule's
    # cooldown; what has come back before must stay over for all of that. With less than the cooldown
    # what comes back afterwards rings again.
    resolve_after_s: Day = field(default=86_400.0, name="resolve_after")
    dead_man: DeadMan = DeadMan()
