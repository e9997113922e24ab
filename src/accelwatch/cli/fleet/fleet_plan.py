"""The options of `accelwatch fleet`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from accelwatch.base.durations import deadline, reading_interval
from accelwatch.base.errors import UsageError
from accelwatch.cli import view_flags
from accelwatch.cli.fleet import target_flags
from accelwatch.cli.fleet.target_flags import Followed
from accelwatch.cli.options import shared_option
from accelwatch.cli.output import output_mode
from accelwatch.cli.parameters import option

FORMATS = ("table", "json", "csv", "prometheus")
_COLOURS = ("auto", "always", "never")


class StateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where is remembered what was there."""

    state_dir: Annotated[
        str | None,
        option("--state-dir", metavar="DIR", help="Where the expected inventory is kept."),
    ] = None
    no_state: Annotated[
        bool,
        option("--no-state", help="Keep no inventory: expect only devices that are present now."),
    ] = False


class Targeting(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to follow, or which hub does."""

    followed: Followed = Followed()
    prometheus: target_flags.Prometheus = None
    config_file: target_flags.ConfigFile = None
    hub: Annotated[
        list[str] | None,
        option(
            "--hub",
            metavar="[NAME=]URL",
            help="Ask this hub, http://host:9878, instead of the nodes; may be repeated.",
        ),
    ] = None
    hub_config_file: Annotated[
        list[Path] | None,
        option(
            "--hub.config.file",
            metavar="FILE",
            help="Credentials and TLS for --hub; repeated, one for each of them.",
        ),
    ] = None
    state_dir: str | None = None
    no_state: bool = False
    # Whether nothing can be acknowledged, because a document is all that is wanted.
    printed: bool = False


class PrintOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be printed, and how often."""

    condition: Annotated[str, shared_option("filter")] = ""
    json: view_flags.Json = False
    format: Annotated[
        str | None,
        option(
            "--format",
            metavar="FORMAT",
            help="table, json, csv or prometheus.",
            completion="fleet_formats",
        ),
    ] = None
    devices: Annotated[
        bool, option("--devices", help="One row per device instead of one per node.")
    ] = False
    by: view_flags.By = None
    fields: Annotated[
        str | None,
        option(
            "--fields",
            metavar="A,B,C",
            help="These quantities of each device; 'help' lists them.",
            completion="fields",
        ),
    ] = None
    timeout: Annotated[
        str, option("--timeout", metavar="DURATION", help="How long nodes may take to answer.")
    ] = "5s"
    strict: Annotated[
        bool, option("--strict", help="Exit 6 when a node does not answer or a device is lost.")
    ] = False
    watch: Annotated[
        str | None,
        option("--watch", "-w", metavar="[INTERVAL]", help="Print again every INTERVAL."),
    ] = None
    count: Annotated[
        int | None, option("--count", "-n", metavar="N", help="With --watch: stop after N.")
    ] = None
    once: view_flags.Once = False
    output: Annotated[str, shared_option("output")] = "-"
    mode: Annotated[str | None, shared_option("mode")] = None
    pretty: Annotated[bool, shared_option("pretty")] = False
    color: view_flags.Color = "auto"

    @property
    def form(self) -> str:
        """The format's name."""
        return self.format or ("json" if self.json else "table")

    @property
    def one_shot(self) -> bool:
        """Whether an option asks for output that a dashboard does not print."""
        usual = PrintOptions(condition=self.condition, color=self.color, timeout=self.timeout)
        return self != usual

    @property
    def rows(self) -> str:
        """What the rows are: `nodes`, `devices` or `groups`."""
        if self.by is not None:
            return "groups"
        return "devices" if self.choosing else "nodes"

    @property
    def choosing(self) -> list[str]:
        """The options that request other rows than nodes."""
        flags = {
            "--filter": bool(self.condition),
            "--devices": self.devices,
            "--fields": self.fields is not None,
            "--by": self.by is not None,
        }
        return [name for name, is_set in flags.items() if is_set]

    @property
    def query(self) -> dict[str, str]:
        """The query parameters that a hub gets."""
        query = {"filter": self.condition} if self.condition else {}
        if self.by is not None:
            return {**query, "by": self.by}
        return {**query, "fields": ",".join(self.field_names)} if self.field_names else query

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields of devices; empty for the usual ones."""
        return tuple(name.strip() for name in (self.fields or "").split(",") if name.strip())

    @property
    def timeout_s(self) -> float:
        """The time limit for answers of targets."""
        return deadline(self.timeout)

    @property
    def permissions(self) -> int:
        """Of the file that is written. Raises UsageError."""
        return output_mode(self.output, self.mode)

    @property
    def interval_s(self) -> float | None:
        """Seconds between two documents; None for a single one."""
        return None if self.watch is None else reading_interval(self.watch)


class DisplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the dashboard is to look and behave."""

    interval: Annotated[
        str | None,
        option("--interval", metavar="DURATION", help="Time between two updates: 2, 500ms."),
    ] = None
    theme: view_flags.Theme = None
    ascii_only: view_flags.Ascii = False
    condition: str = ""
    readonly: bool = False


class Show(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows before the first picture, and the events to come."""

    starting: str = "starting"
    # When something happens (Unix seconds) and what, in that order.
    demo_events: Sequence[tuple[float, str]] = ()


def checked(printing: PrintOptions) -> PrintOptions:
    """The same, if it makes sense. Raises UsageError."""
    if printing.form not in FORMATS:
        raise UsageError(f"no format {printing.form!r}; there are {', '.join(FORMATS)}")
    if printing.json and printing.form != "json":
        raise UsageError(f"--json and --format {printing.form} contradict each other")
    if printing.fields is not None and not printing.field_names:
        raise UsageError("--fields is empty; `accelwatch --fields help` lists them")
    if printing.color not in _COLOURS:
        raise UsageError(f"--color is {', '.join(_COLOURS)}, not {printing.color!r}")
    if printing.count is not None and (printing.watch is None or printing.count < 1):
        raise UsageError("--count is at least 1, and goes with --watch")
    if printing.form == "prometheus" and printing.rows != "nodes":
        chosen = " and ".join(printing.choosing)
        raise UsageError(f"--format prometheus is of the whole fleet; leave {chosen} out")
    if printing.by is not None and (printing.devices or printing.fields is not None):
        raise UsageError("--by has a row a group; leave --devices and --fields out")
    _ = printing.timeout_s, printing.interval_s, printing.permissions
    return printing


def check_targeting(targeting: Targeting) -> None:
    """Raise UsageError when nobody is to be followed, or a hub besides targets."""
    if targeting.state_dir is not None and targeting.no_state:
        raise UsageError("--state-dir and --no-state contradict each other")
    own = targeting.followed.anyone or targeting.prometheus or targeting.config_file
    if targeting.hub:
        if own or targeting.state_dir or targeting.no_state:
            raise UsageError("--hub has its own targets; leave --targets, -c and --state-dir out")
    elif targeting.hub_config_file:
        raise UsageError("--hub.config.file goes with --hub")
    elif not own:
        raise UsageError(
            "no targets given: use --targets 'n[001-063]:9877', --targets-file FILE, -c hub.yaml, "
            "--ssh 'n[01-63]' (nothing to install there) or --hub URL; "
            "`accelwatch demo` shows a simulated fleet"
        )
