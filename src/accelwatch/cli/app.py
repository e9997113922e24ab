"""The typer application: commands, help and completion; the one-shot options come from the table.

A command's module is imported when that command is meant: all of them take as long as reading a node.
"""

import inspect
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import typer

from accelwatch.cli.arguments import OPTIONS, Arguments, Option
from accelwatch.cli.options import taking
from accelwatch.cli.output import write_stdout
from accelwatch.errors import UsageError
from accelwatch.exit_codes import OK

_HELP = """\
See every accelerator of this machine at once.

Without a command: a table on a pipe or with --once; --json, --format and --watch choose other forms.
"""


class _Command(NamedTuple):
    """Where a command, or an application of several, is written: a module of `accelwatch.cli`."""

    module: str
    name: str
    cls: str = ""
    """The class of the command, where it is the module's own."""
    more_words: bool = False
    """Whether it takes words that are no options of it."""


_COMMANDS: Mapping[str, _Command] = MappingProxyType(
    {
        "pick": _Command("pick", "pick_command", more_words=True),
        "topo": _Command("topo_command", "topo_command"),
        "check": _Command("check_command", "check_command", cls="CheckCommand"),
        "backends": _Command("doctor", "backends_command"),
        "doctor": _Command("doctor", "doctor_command"),
        "why": _Command("why_command", "why_command"),
        "usage": _Command("usage_command", "usage_command"),
        "dashboard": _Command("dashboard_command", "dashboard_command"),
        "agent": _Command("agent_command", "agent"),
        "alerts": _Command("alerts_command", "alerts"),
        "config": _Command("config_command", "config"),
        "rules": _Command("rules_command", "rules"),
        "incidents": _Command("incidents_command", "incidents_command"),
        "silence": _Command("silence_command", "silence"),
        "maintenance": _Command("maintenance_command", "maintenance"),
        "remedies": _Command("remedy_commands", "remedies_command"),
        "plan": _Command("remedy_commands", "plan_command"),
        "quarantine": _Command("remedy_commands", "quarantine_command"),
        "release": _Command("remedy_commands", "release_command"),
        "approve": _Command("remedy_commands", "approve_command"),
        "deny": _Command("remedy_commands", "deny_command"),
        "hold": _Command("remedy_commands", "hold_command"),
        "spares": _Command("spares_command", "spares_command"),
        "recovered": _Command("remedy_commands", "recovered_command"),
        "retry": _Command("remedy_commands", "retry_command"),
        "forget": _Command("remedy_commands", "forget_command"),
        "stop": _Command("remedy_commands", "stop_command"),
        "start": _Command("remedy_commands", "start_command"),
        "breaker": _Command("remedy_commands", "breaker_command"),
        "actions": _Command("actions_command", "actions"),
        "audit": _Command("audit_command", "audit"),
        "blackbox": _Command("blackbox_command", "blackbox"),
        "history": _Command("history_command", "history"),
        "record": _Command("record", "record_command"),
        "serve": _Command("serve", "serve_command"),
        "stream": _Command("stream_command", "stream_command"),
        "fleet": _Command("fleet", "fleet_command"),
        "demo": _Command("demo", "demo_command"),
        "hub": _Command("hub", "hub_command"),
        "lab": _Command("lab_command", "lab"),
        "sim": _Command("sim", "sim_command"),
        "welcome": _Command("welcome", "welcome_command"),
    }
)
"""All but `snapshot`, in the order of the help."""


def _arguments(values: dict[str, Any]) -> Arguments:
    many = {option.name for option in OPTIONS if option.many}
    return msgspec.convert(
        {name: tuple(value) if name in many else value for name, value in values.items()}, Arguments
    )


def _given(ctx: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
    """The values that stand on the command line."""
    return {name: value for name, value in values.items() if _is_given(ctx, name)}


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _snapshot(ctx: typer.Context, **values: Any) -> None:
    """Options count before the command as well; one that stands on both sides counts behind it."""
    from accelwatch.cli.snapshot import run

    given = _given(ctx, values)
    for name, before in (ctx.obj or {}).items():
        both = isinstance(before, list) and name in given
        values[name] = [*before, *given[name]] if both else given.get(name, before)
    raise typer.Exit(run(_arguments(values)))


def _root(ctx: typer.Context, **values: Any) -> None:
    command = ctx.invoked_subcommand
    if command is None:
        _snapshot(ctx, **values)
    ctx.obj = _given(ctx, values)
    if command != "snapshot":
        _refuse_before(ctx, command or "")


def _refuse_before(ctx: typer.Context, command: str) -> None:
    """An option before a command is not read by it, and must not be thrown away without a word."""
    known = {flag for parameter in _parameters_of(ctx, command) for flag in parameter.opts}
    for option in OPTIONS:
        if option.name in ctx.obj:
            flag = _long(option)
            mend = f"`accelwatch {command}` has no such option"
            if flag in known:
                mend = f"write: accelwatch {command} {flag}" + (
                    "" if option.kind is bool else " ..."
                )
            raise UsageError(f"{flag} stands before {command!r}, which does not read it; {mend}")


def _long(option: Option) -> str:
    """The flag that tells most: the first with two dashes."""
    return next(flag for flag in option.flags if flag.startswith("--"))


def _parameters_of(ctx: typer.Context, command: str) -> list[Any]:
    commands: dict[str, Any] = getattr(ctx.command, "commands", {})
    return list(commands[command].params) if command in commands else []


def build(only: str = "") -> typer.Typer:
    """The application with all its commands, or with `snapshot` and one more."""
    app = typer.Typer(
        name="accelwatch",
        help=_HELP,
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    app.callback(invoke_without_command=True)(taking(OPTIONS, _root, context))
    app.command("snapshot", help="One document about all devices; the default without a command.")(
        taking(OPTIONS, _snapshot, context)
    )
    for name in [only] if only else _COMMANDS:
        _add(app, name, _COMMANDS[name])
    return app


def _add(app: typer.Typer, name: str, command: _Command) -> None:
    module = import_module(f"accelwatch.cli.{command.module}")
    written = getattr(module, command.name)
    if isinstance(written, typer.Typer):
        app.add_typer(written, name=name)
        return
    shown: dict[str, Any] = {"cls": getattr(module, command.cls)} if command.cls else {}
    if command.more_words:
        shown["context_settings"] = {"allow_extra_args": True}
    app.command(name, **shown)(written)


def invoke(words: list[str]) -> int:
    """Run the application; returns the exit code. Mistakes are told on stderr with code 2.

    Raises AccelwatchError, also where typer's own words cannot be written.
    """
    only = words[0] if words and words[0] in _COMMANDS else ""
    command = typer.main.get_command(build(only))
    try:
        command.main(args=words, prog_name="accelwatch")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK
    except OSError:
        # Help that could not be written is still held, and fails here with its message.
        write_stdout(b"")
        raise
    return OK
