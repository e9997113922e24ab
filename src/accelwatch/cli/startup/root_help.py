"""The help of `accelwatch` itself: what it does without a command, examples, and commands by heading."""

from collections.abc import Iterable

import click

from accelwatch.cli.options import Group
from accelwatch.cli.startup.commands import COMMANDS, HEADINGS

HELP = """\
See what every accelerator of a machine or fleet does, and why one stopped.

Without a command: the dashboard on a terminal, a table on a pipe.
"""
_EXAMPLES = (
    ("accelwatch", "opens the dashboard; --theme, --interval"),
    ("accelwatch --json", "for scripts; also --format csv, --watch"),
    ("accelwatch why", "what is wrong, since when, what to do"),
    ("accelwatch pick -n 2 -- ./train", "run it on two free, healthy devices"),
    ("accelwatch demo", "a simulated fleet; needs no accelerator"),
)
_MORE = (
    ("accelwatch COMMAND --help", "options of a command"),
    ("accelwatch snapshot --help", "options of tables and documents"),
    ("accelwatch dashboard --help", "options of the dashboard"),
    ("accelwatch --version", "the version"),
    ("accelwatch --install-completion", "completion for this shell"),
)
# Columns, so that all texts of a kind begin below each other.
_EXAMPLE_WIDTH, _NAME_WIDTH = 31, 11


class RootGroup(Group):
    """Lists no options: those of the table stand in the help of `snapshot`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, the commands under their headings, and where the options are."""
        del ctx
        _section(formatter, "Examples", _EXAMPLES, _EXAMPLE_WIDTH)
        for heading in HEADINGS:
            rows = [
                (name, command.summary)
                for name, command in COMMANDS.items()
                if command.heading == heading
            ]
            _section(formatter, heading, rows, _NAME_WIDTH)
        _section(formatter, "More", _MORE, _EXAMPLE_WIDTH)


def _section(
    formatter: click.HelpFormatter, heading: str, rows: Iterable[tuple[str, str]], width: int
) -> None:
    with formatter.section(heading):
        formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width + 2)
