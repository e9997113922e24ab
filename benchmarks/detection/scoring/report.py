"""The table for people: a row a measure, a column a detector."""

from collections.abc import Callable, Mapping, Sequence

from scoring.measures import Share, Table
from scoring.surface import Cell
from traces.classes import CLASSES

_Row = tuple[str, Callable[[Table], str]]


def text(tables: Mapping[str, Table]) -> str:
    """All measures, then every class."""
    rows: list[_Row] = [
        ("XID classes found", lambda one: _share(one.recall["xid"])),
        ("unreachable, hang, slow >= 10 %", lambda one: _share(one.recall["no_xid"])),
        ("fail-slow 3-10 %", lambda one: _share(one.recall["fail_slow_3_10"])),
        ("early, of strong precursors", lambda one: _share(one.early)),
        ("early, of all", lambda one: _share(one.early_of_all)),
        ("false alarms a fleet-day", lambda one: f"{one.false_alarms_a_day:.2f}"),
        ("  95 % interval", lambda one: "{:.2f}-{:.2f}".format(*one.false_alarms_interval)),
        ("watches a day", lambda one: f"{one.watches_a_day:.1f}"),
        ("delay hard, median/p95", lambda one: _delay(one.delays["hard"])),
        ("delay numeric, median/p95", lambda one: _delay(one.delays["numeric"])),
        ("delay hang, median/p95", lambda one: _delay(one.delays["hang"])),
        ("right node first", lambda one: _share(one.right_node)),
        ("group events told as one", lambda one: _share(one.group_single)),
        ("  nodes advised for exclusion", lambda one: str(one.group_nodes_out)),
        ("precision in these traces", lambda one: _percent(one.precision)),
        ("precision at 0.31 faults a day", lambda one: _percent(one.precision_at_fleet_rate)),
        *((f"found: {name}", _of_class(name)) for name in CLASSES),
    ]
    lines = [["", *tables], *([name, *map(show, tables.values())] for name, show in rows)]
    return _aligned(lines)


def surface_text(name: str, cells: Mapping[str, Cell]) -> str:
    """One surface of one detector."""
    rows = [
        [place, str(cell.faults), str(cell.found), str(cell.early), _seconds(cell.lead)]
        for place, cell in cells.items()
    ]
    return _aligned([[name, "faults", "found", "early", "lead"], *rows])


def _of_class(name: str) -> Callable[[Table], str]:
    return lambda one: _share(one.by_class[name])


def _share(share: Share) -> str:
    return f"{share.hits}/{share.of}" if share.of else "-"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _delay(spread: tuple[float, float] | None) -> str:
    return "-" if spread is None else "/".join(map(_seconds, spread))


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.1f} min"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
