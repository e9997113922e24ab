"""`accelwatch pick`: print the visible-devices variable of free devices, or run a command with it."""

import os
import shlex
from typing import Annotated

import msgspec
import typer

from accelwatch.cli import collect_flags
from accelwatch.cli.output import complain, write_stdout
from accelwatch.durations import deadline, size_bytes
from accelwatch.errors import UnmetError, UsageError
from accelwatch.exit_codes import OK
from accelwatch.expr import compile_condition, device_names
from accelwatch.query.picking import Pick, Wish, pick
from accelwatch.sampler.settings import NO_ACCELERATORS, CollectSettings
from accelwatch.visibility import Declared

_FORMATS = ("env", "export", "value", "json")


def pick_command(
    ctx: typer.Context,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many devices.")] = 1,
    free_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="At least this much free on each (10GiB).")
    ] = None,
    max_utilization: Annotated[
        str | None, typer.Option(metavar="PERCENT", help="At most this busy (10 or 10%).")
    ] = None,
    unused: Annotated[
        bool, typer.Option("--unused", help="Only devices without a process.")
    ] = False,
    vendor: Annotated[str | None, typer.Option(help="nvidia, amd or intel.")] = None,
    condition: Annotated[
        str | None, typer.Option("-f", "--filter", metavar="EXPR", help="Must be true.")
    ] = None,
    output: Annotated[
        str, typer.Option("--format", help="env, export (for eval), value or json.")
    ] = "env",
    backend: collect_flags.Backends = None,
    collect: collect_flags.Groups = None,
    root: collect_flags.Root = "/",
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="For the reading.")] = "2s",
) -> None:
    """Choose free, healthy devices; exit 4 when there are not enough.

    What is lost, unresponsive, unwell or unknown never qualifies. With `-- COMMAND ...` the command is
    run in this process's place and sees just the chosen devices.
    """
    if output not in _FORMATS:
        raise UsageError(f"--format is one of {', '.join(_FORMATS)}, not {output!r}")
    settings = collect_flags.collecting(
        CollectSettings(one_shot=True, timeout_s=deadline(timeout), without=NO_ACCELERATORS),
        root,
        backend,
        collect,
    )
    declared = Declared(settings.backends)
    if vendor is not None:
        _check_vendor(vendor, declared)
    wish = Wish(
        count=count,
        vendor=vendor,
        free_memory_bytes=None if free_memory is None else size_bytes(free_memory),
        max_utilization_ratio=None if max_utilization is None else _ratio(max_utilization),
        unused=unused,
        condition=None if condition is None else compile_condition(condition, device_names()),
    )
    chosen = _choose(wish, settings, declared)
    if ctx.args:
        _run(ctx.args, chosen)
    write_stdout(text_of(chosen, output).encode())
    raise typer.Exit(OK)


def _check_vendor(vendor: str, declared: Declared) -> None:
    known = declared.vendors()
    if vendor not in known:
        _complain_of(declared)
        raise UsageError(f"--vendor is {', '.join(known)}, not {vendor!r}")


def _complain_of(declared: Declared) -> None:
    for fault in declared.faults:
        complain(fault)


def _choose(wish: Wish, settings: CollectSettings, declared: Declared) -> Pick:
    from accelwatch.readings import read_once

    views = read_once(settings).devices
    try:
        return pick(views, wish, declared)
    except UnmetError:
        _complain_of(declared)
        raise


def _ratio(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        raise UsageError(f"--max-utilization is a percentage, not {text!r}") from None
    if not 0 <= percent <= 100:
        raise UsageError(f"--max-utilization is between 0 and 100, not {text}")
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
