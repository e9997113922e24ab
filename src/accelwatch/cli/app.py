"""The typer application: commands, help and completion; the one-shot options come from the table."""

import inspect
from collections.abc import Callable
from typing import Any

import msgspec
import typer

from accelwatch.cli.agent_command import agent
from accelwatch.cli.alerts_command import alerts
from accelwatch.cli.arguments import OPTIONS, Arguments, Option
from accelwatch.cli.check_command import CheckCommand, check_command
from accelwatch.cli.config_command import config
from accelwatch.cli.dashboard_command import dashboard_command
from accelwatch.cli.demo import demo_command
from accelwatch.cli.doctor import backends_command, doctor_command
from accelwatch.cli.fleet import fleet_command
from accelwatch.cli.history_command import history
from accelwatch.cli.hub import hub_command
from accelwatch.cli.incidents_command import incidents_command
from accelwatch.cli.options import declared
from accelwatch.cli.pick import pick_command
from accelwatch.cli.record import record_command
from accelwatch.cli.rules_command import rules
from accelwatch.cli.serve import serve_command
from accelwatch.cli.sim import sim_command
from accelwatch.cli.welcome import welcome_command
from accelwatch.errors import UsageError
from accelwatch.exit_codes import OK

_HELP = """\
See every accelerator of this machine at once.

Without a command: a table on a pipe or with --once; --json, --format and --watch choose other forms.
"""


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = list[option.kind] if option.many else option.kind  # type: ignore[name-defined]
    if option.default is None:
        kind = kind | None
    default = list(option.default) if option.many else option.default
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=declared(option, default),
        annotation=kind,
    )


def _takes_options(function: Callable[..., None], *first: inspect.Parameter) -> Callable[..., None]:
    parameters = [*first, *(_parameter(option) for option in OPTIONS)]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


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


def build() -> typer.Typer:
    """The application with all its commands."""
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
    app.callback(invoke_without_command=True)(_takes_options(_root, context))
    app.command("snapshot", help="One document about all devices; the default without a command.")(
        _takes_options(_snapshot, context)
    )
    app.command("pick", context_settings={"allow_extra_args": True})(pick_command)
    app.command("check", cls=CheckCommand)(check_command)
    app.command("backends")(backends_command)
    app.command("doctor")(doctor_command)
    app.command("dashboard")(dashboard_command)
    app.command("agent")(agent)
    app.add_typer(alerts, name="alerts")
    app.add_typer(config, name="config")
    app.add_typer(rules, name="rules")
    app.command("incidents")(incidents_command)
    app.add_typer(history, name="history")
    app.command("record")(record_command)
    app.command("serve")(serve_command)
    app.command("fleet")(fleet_command)
    app.command("demo")(demo_command)
    app.command("hub")(hub_command)
    app.command("sim")(sim_command)
    app.command("welcome")(welcome_command)
    return app


def invoke(words: list[str]) -> int:
    """Run the application; returns the exit code. Mistakes are told on stderr with code 2."""
    command = typer.main.get_command(build())
    try:
        command.main(args=words, prog_name="accelwatch")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK
    return OK
