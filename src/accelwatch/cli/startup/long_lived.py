"""Commands that stay: read without typer's parser, which brings pydantic into a process of months.

That is 12 MiB, and 30 ms of the start (typer 0.29). Help, completion and every mistake go to typer, as
on the one-shot path (`cli.arguments`): what is read here is what typer would have read.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "agent": ("servers.agent_command", "agent"),
        "hub": ("servers.hub", "hub_command"),
        "fleet": ("fleet.fleet", "fleet_command"),
        "dashboard": ("startup.dashboard_command", "dashboard_command"),
        "stream": ("servers.stream_command", "stream_command"),
    }
)
"""Name to module of `accelwatch.cli` and the function in it, which `cli.options.command` made."""


def prepared(argv: list[str]) -> Callable[[], int] | None:
    """What the words ask for, to be run; None when typer should look."""
    if not argv or argv[0] not in COMMANDS:
        return None
    module, name = COMMANDS[argv[0]]
    written = getattr(import_module(f"accelwatch.cli.{module}"), name)

    from accelwatch.cli import arguments, options

    by_flag: dict[str, arguments.Option] = {}
    for parameter, flags in options.declarations(written):
        if parameter.default is parameter.empty:
            return None
        kind, many = _kind(get_args(parameter.annotation)[0])
        if kind is not None:
            row = arguments.Option(
                name=parameter.name, flags=flags, kind=kind, default=None, help="", many=many
            )
            by_flag |= dict.fromkeys(row.flags, row)
    values = arguments.values_of(arguments.normalised(argv)[1:], by_flag)
    if values is None:
        return None
    keywords = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    return lambda: _code(lambda: written(**keywords))


def _kind(annotation: Any) -> tuple[type | None, bool]:
    """The type of one value, and whether there may be several; none for what only typer reads."""
    plain: dict[Any, tuple[type, bool]] = {
        bool: (bool, False),
        str: (str, False),
        str | None: (str, False),
        int | None: (int, False),
        Path | None: (Path, False),
        list[str] | None: (str, True),
    }
    return plain.get(annotation, (None, False))


def _code(run: Callable[[], None]) -> int:
    """Its exit code; one that ends without a word of typer's has ended well."""
    try:
        run()
    except Exception as end:
        typer = sys.modules.get("typer")
        if typer is None or not isinstance(end, typer.Exit):
            raise
        return int(end.exit_code)
    return 0
