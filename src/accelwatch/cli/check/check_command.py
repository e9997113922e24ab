"""`accelwatch check` for typer: its help, its completion and its mistakes."""

from typing import Any

import msgspec
import typer
from typer.core import TyperCommand

from accelwatch.cli.check.check_options import CHECK_OPTIONS, CheckOptions
from accelwatch.cli.options import add_options

UNKNOWN = 3


class CheckCommand(TyperCommand):
    """A mistake on the command line is UNKNOWN, for 2 means CRITICAL here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of any command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # typer brings a click of its own, whose classes are not public.
            if hasattr(error, "exit_code"):
                error.exit_code = UNKNOWN
            raise


def _check(**values: Any) -> None:
    """Check this node's health: exit 0 ok, 1 warning, 2 critical, 3 unknown.

    Asks the agent of this machine; without one it reads the devices itself. A healthy node is one line.
    """
    from accelwatch.cli.check.check import run

    raise typer.Exit(run(msgspec.convert(values, CheckOptions)))


check_command = add_options(CHECK_OPTIONS, _check)
