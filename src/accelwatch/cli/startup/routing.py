"""Which command the words mean, before a parser is loaded: a collector is forked by that.

A wrong guess costs a process that ends unused. The words themselves are parsed once, by click.
"""

import os

from accelwatch.cli import terminal
from accelwatch.cli.startup.commands import COMMANDS, Collector

# Options that the dashboard has and the table has not.
DASHBOARD_ONLY = frozenset({"--theme", "--ascii", "--interval", "--readonly"})
# Options that both have.
SHARED = frozenset(
    {"-f", "--filter", "-b", "--backend", "--collect", "--replay", "--root", "--loop"}
)
# Those without a value.
SWITCHES = frozenset({"--ascii", "--readonly", "--loop"})
_NO_COLLECTOR = ("-h", "--help", "--install", "--show")
_REPEATED = ("-w", "--watch", "-l", "--loop")


def with_command(argv: list[str]) -> list[str]:
    """The words with `dashboard` before them where none is named and that is meant.

    It is on a terminal without any word, and where there are options that only the dashboard has.
    """
    if not argv:
        return ["dashboard"] if terminal.on_terminal() else []
    flags = set()
    left = iter(argv)
    for token in left:
        flag, joined, _ = token.partition("=")
        if flag not in DASHBOARD_ONLY | SHARED:
            return argv
        flags.add(flag)
        if flag not in SWITCHES and not joined:
            next(left, "")
    return ["dashboard", *argv] if flags & DASHBOARD_ONLY else argv


def early_collector(argv: list[str]) -> Collector:
    """Which collector the words look like they need."""
    name = "snapshot" if argv and argv[0].startswith("-") else next(iter(argv), "")
    collector = COMMANDS[name].collector if name in COMMANDS else Collector.NONE
    without: tuple[str, ...] = _NO_COLLECTOR
    if collector is Collector.ONE_READING:
        without += _REPEATED
    if name == "dashboard":
        without += ("--replay",)
    if terminal.COMPLETION in os.environ or any(token.startswith(without) for token in argv):
        return Collector.NONE
    if name == "dashboard" and not terminal.on_terminal():
        return Collector.NONE
    return collector
