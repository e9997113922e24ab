"""The request of a one-shot command line, checked before anything is read.

The collector starts as soon as this is known, so what only some command lines need is imported late.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.durations import deadline, reading_interval
from accelwatch.base.errors import UsageError
from accelwatch.cli.arguments import Arguments, split_list
from accelwatch.cli.output import output_mode
from accelwatch.node.collecting import installed, opt_in
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.snapshot import NO_ACCELERATORS

if TYPE_CHECKING:
    from accelwatch.expr import Expression

# Those that are shipped; further ones are exporters by entry point.
FORMATS = ("table", "json", "csv", "prometheus")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments, checked and understood."""

    format: str
    fields: tuple[str, ...]
    condition: "Expression | None"
    settings: CollectSettings
    interval_s: float | None
    # Permissions of the output file.
    mode: int
    arguments: Arguments

    @property
    def recording(self) -> Path | None:
        """The recording whose first document is all that is wanted; None for devices and scenarios."""
        alone = self.settings.backends == ("replay",)
        if self.arguments.replay is None or not alone or self.interval_s is not None:
            return None
        from accelwatch.archive.recording import may_be_recording

        path = Path(str(self.settings.options["replay"]["file"]))
        return path if may_be_recording(path) else None


def plan(arguments: Arguments) -> Plan:
    """What to do. Raises UsageError or ExpressionError before anything is read."""
    _refuse_empty(arguments)
    names: tuple[str, ...] = ()
    if arguments.fields:
        from accelwatch.schema.fields import resolve

        names = resolve(arguments.fields.split(","))
    interval_s = None
    if arguments.watch is not None:
        interval_s = reading_interval(arguments.watch)
    elif arguments.count is not None:
        raise UsageError("--count goes with --watch")
    if arguments.color not in ("auto", "always", "never"):
        raise UsageError(f"--color is auto, always or never, not {arguments.color!r}")
    condition = None
    if arguments.filter is not None:
        from accelwatch.expr import compile_condition, device_names

        condition = compile_condition(arguments.filter, device_names())
    return Plan(
        format=_format(arguments),
        fields=names,
        condition=condition,
        settings=_settings(arguments, names, interval_s),
        interval_s=interval_s,
        mode=output_mode(arguments.output, arguments.mode),
        arguments=arguments,
    )


def _refuse_empty(arguments: Arguments) -> None:
    """A variable of a script that was never set must not mean everything, nor no end."""
    if arguments.device and not split_list(arguments.device):
        raise UsageError("--device is empty; 'all' means every device")
    if arguments.fields == "":
        raise UsageError("--fields is empty; 'help' lists them")
    if arguments.count == 0:
        raise UsageError("--count is at least 1")


def _format(arguments: Arguments) -> str:
    if arguments.is_nvidia_smi_call:
        return "nvidia-smi"
    name = arguments.format or ("json" if arguments.json else "table")
    if name not in FORMATS and name not in (available := formats()):
        from accelwatch.base.names.nearest import nearest

        close = nearest(name, list(available))
        raise UsageError(
            f"no format {name!r}; "
            + (f"did you mean {close}?" if close else "there are " + ", ".join(available))
        )
    if arguments.json and name != "json":
        raise UsageError(f"--json and --format {name} contradict each other")
    return name


def formats() -> tuple[str, ...]:
    """Every format of a snapshot: those that are shipped, then strangers'."""
    from accelwatch.node import rendering

    return tuple(dict.fromkeys((*FORMATS, *rendering.formats())))


def _groups(arguments: Arguments, names: tuple[str, ...]) -> frozenset[str]:
    requested = set(split_list(arguments.collect))
    if not requested and not names:
        return frozenset()
    from accelwatch.schema.catalogue.lookup import by_key
    from accelwatch.schema.series import series_of

    rows = [by_key().get(series_of(name)[0]) for name in names]
    return opt_in(requested) | {row.group for row in rows if row is not None and row.group}


def root_folder(text: str) -> str:
    """The absolute path of `--root`. Raises UsageError."""
    if not Path(text).is_dir():
        raise UsageError(f"--root {text}: no such directory")
    return str(Path(text).absolute())


def _settings(
    arguments: Arguments, names: tuple[str, ...], interval_s: float | None
) -> CollectSettings:
    options: dict[str, dict[str, object]] = {}
    backends = installed(split_list(arguments.backend), "--backend")
    if arguments.replay is not None:
        from accelwatch.cli.replay_file import replay_file

        options["replay"] = {"file": replay_file(arguments.replay)}
        backends = backends or ("replay",)
    settings = CollectSettings(
        without=NO_ACCELERATORS,
        one_shot=interval_s is None,
        interval_s=2.0 if interval_s is None else interval_s,
        timeout_s=deadline(arguments.timeout),
        argv=arguments.argv,
        options=options,
    )
    return of_machine(settings, arguments.root, backends, _groups(arguments, names))


def of_machine(
    settings: CollectSettings, root: str, backends: tuple[str, ...], groups: frozenset[str]
) -> CollectSettings:
    """The settings with what `--root`, `--backend` and `--collect` say. Raises UsageError.

    `--collect host` reads the host, also beside backends of accelerators only.
    """
    return msgspec.structs.replace(
        settings,
        without=settings.without - (groups & {"host"}),
        root=root_folder(root),
        backends=backends or settings.backends,
        groups=settings.groups | groups,
    )
