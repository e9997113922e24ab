"""`accelwatch pick`: print the visible-devices variable of free devices, or run a command with it."""

import os
import shlex
from collections.abc import Sequence
from typing import Annotated

import click
import msgspec

from accelwatch.base.durations import deadline, size_bytes
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.expr import compile_condition, device_names
from accelwatch.node.query.picking import Criteria, Pick, pick
from accelwatch.node.query.visibility import Declared
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.snapshot import NO_ACCELERATORS, DeviceView

_FORMATS = ("env", "export", "value", "json")


class PickOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs, and the output format."""

    count: Annotated[int, option("-n", "--count", metavar="N", min=1, help="How many devices.")] = 1
    free_memory: Annotated[
        str | None, option(metavar="SIZE", help="At least this much free on each (10GiB).")
    ] = None
    max_utilization: Annotated[
        str | None, option(metavar="PERCENT", help="Highest load allowed (10 or 10%).")
    ] = None
    unused: Annotated[bool, option("--unused", help="Only devices without a process.")] = False
    vendor: Annotated[
        str | None,
        option(metavar="NAME", help="Devices of this vendor only: nvidia, amd, rebellions, ..."),
    ] = None
    condition: Annotated[str | None, shared_option("filter")] = None
    format: Annotated[
        str, option(metavar="FORMAT", help="env, export (for eval), value or json.")
    ] = "env"
    replay: Annotated[
        str | None,
        shared_option("replay", "Choose from a recording or scenario, to try; runs no command."),
    ] = None
    machine: MachineOptions = MachineOptions()
    timeout: Annotated[str, shared_option("timeout", "Deadline of the reading.")] = "2s"

    def criteria(self) -> Criteria:
        """What each device must be. Raises UsageError or ExpressionError."""
        condition, size, busy = self.condition, self.free_memory, self.max_utilization
        return Criteria(
            count=self.count,
            vendor=self.vendor,
            free_memory_bytes=None if size is None else size_bytes(size),
            max_utilization_ratio=None if busy is None else _ratio(busy),
            unused=self.unused,
            condition=None if condition is None else compile_condition(condition, device_names()),
        )


def _pick(options: PickOptions) -> None:
    """Choose free, healthy devices; exit 4 when there are not enough.

    Lost, hung, unhealthy or unknown devices never qualify. `-- COMMAND ...` replaces this
    process and sees only the chosen devices.
    """
    argv = click.get_current_context().args
    if options.format not in _FORMATS:
        raise UsageError(f"--format is one of {', '.join(_FORMATS)}, not {options.format!r}")
    timeout_s = deadline(options.timeout)
    settings = options.machine.over(
        CollectSettings(one_shot=True, timeout_s=timeout_s, without=NO_ACCELERATORS)
    )
    if options.replay is not None:
        _refuse_beside_replay(options.machine, argv)
    declared = Declared(settings.backends)
    if options.vendor is not None:
        _check_vendor(options.vendor, declared)
    views = _views(options.replay, settings)
    chosen = _choose(options.criteria(), views, declared)
    if argv:
        _run(argv, chosen)
    write_stdout(text_of(chosen, options.format).encode())
    raise click.exceptions.Exit(OK)


pick_command = command(_pick, context_settings={"allow_extra_args": True})


def _check_vendor(vendor: str, declared: Declared) -> None:
    vendors = declared.vendors()
    if vendor not in vendors:
        _complain_of(declared)
        raise UsageError(f"--vendor is {', '.join(vendors)}, not {vendor!r}")


def _complain_of(declared: Declared) -> None:
    for fault in declared.faults:
        complain(fault)


def _refuse_beside_replay(machine: MachineOptions, command: Sequence[str]) -> None:
    if command:
        raise UsageError("--replay chooses devices of a recording; no command can be run on them")
    if machine != MachineOptions():
        raise UsageError("--root, --backend and --collect read this machine; leave out --replay")


def _views(replay: str | None, settings: CollectSettings) -> Sequence[DeviceView]:
    """The devices of this machine, or of a recording. Raises AccelwatchError."""
    if replay is None:
        from accelwatch.node.snapshots import read_once

        return read_once(settings).devices
    from accelwatch.cli.replay_file import replayed

    return replayed(replay, settings.timeout_s).devices


def _choose(criteria: Criteria, views: Sequence[DeviceView], declared: Declared) -> Pick:
    try:
        return pick(views, criteria, declared)
    except UnmetError:
        _complain_of(declared)
        raise


def _ratio(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        raise UsageError(
            f"--max-utilization: {text!r} is not a percentage; write 10 or 10%"
        ) from None
    if not 0 <= percent <= 100:
        raise UsageError(f"--max-utilization: {text!r} is not a percentage; write 0 to 100")
    return percent / 100


def text_of(chosen: Pick, output: str) -> str:
    """The choice in one of the forms that `--format` names; `export` is quoted for a shell."""
    match output:
        case "export":
            return f"export {chosen.variable}={shlex.quote(chosen.value)}\n"
        case "value":
            return f"{chosen.value}\n"
        case "json":
            ids = [view.device.id for view in chosen.views]
            document = {"variable": chosen.variable, "value": chosen.value, "devices": ids}
            return msgspec.json.encode(document).decode() + "\n"
        case _:
            return f"{chosen.variable}={chosen.value}\n"


def _run(command: list[str], chosen: Pick) -> None:
    environ = {**os.environ, chosen.variable: chosen.value}
    try:
        os.execvpe(command[0], command, environ)  # noqa: S606 - running the user's command is the point
    except OSError as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from error
