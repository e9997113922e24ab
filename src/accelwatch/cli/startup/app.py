"""The command line of click: commands by name, each imported when it is meant.

All of them need as long to import as reading a node does.
"""

import copy
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import click

from accelwatch.base.exit_codes import OK
from accelwatch.cli.arguments import Arguments, normalised
from accelwatch.cli.node.snapshot_command import explicit_values, refuse_before, run_snapshot
from accelwatch.cli.options import parameters_of
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.startup.commands import COMMANDS
from accelwatch.cli.startup.root_help import HELP, RootGroup
from accelwatch.cli.startup.routing import DASHBOARD_ONLY
from accelwatch.cli.startup.shell_completion import completion_options


class _Commands(MutableMapping[str, click.Command]):
    """The commands by name; one is imported on access."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS


def _load(name: str) -> click.Command:
    """Import the command of this name. Raises KeyError."""
    row = COMMANDS[name]
    module = import_module(f"accelwatch.cli.{row.module}")
    # A copy: an older name of `remedy plan` is not listed, which `remedy plan` is.
    command: click.Command = copy.copy(getattr(module, row.name))
    command.name, command.hidden = name, not row.heading
    return command


@click.pass_context
def _root(ctx: click.Context, /, **values: Any) -> None:
    if ctx.invoked_subcommand is None:
        run_snapshot(values)
    ctx.obj = explicit_values(ctx, values)
    if ctx.invoked_subcommand not in (None, "snapshot"):
        name = str(ctx.invoked_subcommand)
        refuse_before(ctx.obj, name, build().get_command(ctx, name))


def build() -> click.Group:
    """`accelwatch` with all its commands."""
    return RootGroup(
        "accelwatch",
        commands=_Commands(),
        params=[*parameters_of(Arguments), *completion_options()],
        callback=_root,
        help=HELP,
        invoke_without_command=True,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def invoke(argv: list[str]) -> int:
    """Run the command of these words; returns the exit code. Mistakes are reported on stderr, code 2.

    Raises AccelwatchError, also where click's own output cannot be written.
    """
    arguments = normalised(argv)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    root = build()
    try:
        # As `root.main` does, but ^C stays KeyboardInterrupt (`entry.guarded`).
        with root.make_context("accelwatch", arguments) as ctx:
            root.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _complain_of(error)
    except OSError:
        # Help that could not be written is still held, and fails here with its message.
        write_stdout(b"")
        raise
    return OK


def _complain_of(error: click.ClickException) -> int:
    """Print a mistake in the arguments like every other message; returns the exit code."""
    text = _text_of(error)
    context: click.Context | None = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option in DASHBOARD_ONLY and context is not None and context.parent is None:
        complain(
            f"{option} is an option of the dashboard, and others here are of the table; "
            f"write: accelwatch dashboard {option} ..."
        )
    elif context is None:
        complain(_normalised_sentence(text))
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        named = _normalised_sentence(text)
        end = "" if named.endswith("?") else ";"
        complain(f"{named}{end} see: {context.command_path} --help")
    return error.exit_code if (code := _usage_exit_code(context)) is None else code


def _usage_exit_code(context: click.Context | None) -> int | None:
    """The exit code of a command of the table after a mistake in its arguments; else None."""
    # `rules check` is not `check`: only the commands at the top are in the table.
    if context is None or context.parent is None or context.parent.parent is not None:
        return None
    row = COMMANDS.get(context.info_name or "")
    return None if row is None else row.usage_exit_code


def _text_of(error: click.ClickException) -> str:
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    recognised = ", ".join(sorted(error.possibilities or ()))
    return f"no such option: {error.option_name}" + (
        f" (Possible options: {recognised})" if recognised else ""
    )


def _normalised_sentence(text: str) -> str:
    """A sentence of click's as messages here are written."""
    return text[:1].lower() + text[1:].rstrip(".")
