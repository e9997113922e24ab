"""The typer application: commands, help and completion; the one-shot options come from the table.

A command's module is imported when that command is meant: all of them take as long as reading a node.
"""

import inspect
from importlib import import_module
from typing import Any

import msgspec
import typer

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.arguments import OPTIONS, Arguments, Option
from accelwatch.cli.options import add_options
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.startup.commands import COMMANDS, SNAPSHOT, Command
from accelwatch.cli.startup.default_command import DASHBOARD_ONLY
from accelwatch.cli.startup.root_help import HELP, RootGroup


def _arguments(values: dict[str, Any]) -> Arguments:
    many = {option.name for option in OPTIONS if option.many}
    return msgspec.convert(
        {name: tuple(value) if name in many else value for name, value in values.items()}, Arguments
    )


def _explicit_values(ctx: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
    """The values that stand on the command line."""
    return {name: value for name, value in values.items() if _is_explicit(ctx, name)}


def _is_explicit(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _snapshot(ctx: typer.Context, **values: Any) -> None:
    """Options count before the command as well; one that stands on both sides counts behind it."""
    from accelwatch.cli.node.snapshot import run

    explicit = _explicit_values(ctx, values)
    for name, before in (ctx.obj or {}).items():
        both = isinstance(before, list) and name in explicit
        values[name] = [*before, *explicit[name]] if both else explicit.get(name, before)
    raise typer.Exit(run(_arguments(values)))


def _root(ctx: typer.Context, **values: Any) -> None:
    command = ctx.invoked_subcommand
    if command is None:
        _snapshot(ctx, **values)
    ctx.obj = _explicit_values(ctx, values)
    if command != "snapshot":
        _refuse_before(ctx, command or "")


def _refuse_before(ctx: typer.Context, command: str) -> None:
    """An option before a command is not read by it, and must not be thrown away without a word."""
    flags = {flag for parameter in _parameters_of(ctx, command) for flag in parameter.opts}
    for option in OPTIONS:
        if option.name in ctx.obj:
            flag = _long(option)
            hint = f"`accelwatch {command}` has no such option"
            if flag in flags:
                hint = f"write: accelwatch {command} {flag}" + (
                    "" if option.kind is bool else " ..."
                )
            raise UsageError(f"{flag} stands before {command!r}, which does not read it; {hint}")


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
        help=HELP,
        cls=RootGroup,
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    app.callback(invoke_without_command=True)(add_options(OPTIONS, _root, context))
    app.command("snapshot", help=SNAPSHOT)(add_options(OPTIONS, _snapshot, context))
    for name in [only] if only else COMMANDS:
        _add(app, name, COMMANDS[name])
    return app


def _add(app: typer.Typer, name: str, command: Command) -> None:
    module = import_module(f"accelwatch.cli.{command.module}")
    written = getattr(module, command.name)
    hidden = not command.heading
    if isinstance(written, typer.Typer):
        app.add_typer(written, name=name, hidden=hidden)
        return
    shown: dict[str, Any] = {"cls": getattr(module, command.cls)} if command.cls else {}
    if command.takes_arguments:
        shown["context_settings"] = {"allow_extra_args": True}
    app.command(name, hidden=hidden, **shown)(written)


def invoke(argv: list[str]) -> int:
    """Run the application; returns the exit code. Mistakes are told on stderr with code 2.

    Raises AccelwatchError, also where typer's own words cannot be written.
    """
    only = argv[0] if argv and argv[0] in COMMANDS else ""
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    command = typer.main.get_command(build(only))
    try:
        code = command.main(args=argv, prog_name="accelwatch", standalone_mode=False)
    except SystemExit as end:
        code = end.code
    except OSError:
        # Help that could not be written is still held, and fails here with its message.
        write_stdout(b"")
        raise
    except Exception as error:
        # typer brings a click of its own, whose classes are not public.
        if not hasattr(error, "format_message"):
            raise
        code = _complain_of(error)
    return code if isinstance(code, int) else OK


def _complain_of(error: Any) -> int:
    """Say what is wrong with the words, as every other message is said; returns the exit code."""
    text = error.format_message()
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option in DASHBOARD_ONLY and context is not None and context.parent is None:
        complain(
            f"{option} is an option of the dashboard, and others here are of the table; "
            f"write: accelwatch dashboard {option} ..."
        )
    elif context is None:
        complain(_normalised_sentence(text))
    elif text == context.get_help():  # an application that was given no command
        error.show()
    else:
        named = _normalised_sentence(text)
        end = "" if named.endswith("?") else ";"
        complain(f"{named}{end} see: {context.command_path} --help")
    return int(error.exit_code)


def _normalised_sentence(text: str) -> str:
    """A sentence of typer's as messages here are written."""
    return text[:1].lower() + text[1:].rstrip(".")
