"""Which command is meant where none is named: options of the dashboard alone mean the dashboard."""

DASHBOARD_ONLY = frozenset({"--theme", "--ascii", "--interval", "--readonly"})
"""Options that the dashboard has and the table has not."""
SHARED = frozenset(
    {"-f", "--filter", "-b", "--backend", "--collect", "--replay", "--root", "--loop"}
)
"""Options that both have."""


SWITCHES = frozenset({"--ascii", "--readonly", "--loop"})
"""Those without a value."""


def with_command(argv: list[str]) -> list[str]:
    """The words with `dashboard` before them where only the dashboard knows their options."""
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
