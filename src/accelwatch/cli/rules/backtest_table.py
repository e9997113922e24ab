"""A back-test for people: a line an incident with its price, and what it comes to."""

from collections import Counter
from typing import TYPE_CHECKING

from accelwatch.base.untrusted_text import printable
from accelwatch.cli.table_lines import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accelwatch.fleet.backtest.incidents import Backtest
    from accelwatch.fleet.backtest.line import Line

_HEAD = ("OPENED", "LASTED", "LEVEL", "WHERE", "JOB", "RULE", "ADVICE", "HELD UP", "SAVED")
_MOST = 5


def table(lines: "Sequence[Line]", test: "Backtest") -> str:
    """All lines and the summary; device-hours are reckoned (docs/history.md)."""
    from accelwatch.alerting.incidents.grouping.levels import ALERT
    from accelwatch.cli.history.archive_arguments import time_text
    from accelwatch.fleet.backtest.price import price_of
    from accelwatch.schema.display import counted, duration

    rows: list[tuple[str, ...]] = []
    delayed = saved = 0.0
    for line in lines:
        price = price_of(line, test.context.devices_of(line.job, line.nodes), test.time)
        delayed, saved = delayed + price.lost, saved + price.saved
        lasted = "open" if line.closed is None else duration(line.closed - line.opened)
        hours = (f"{price.lost:.0f} h", f"{price.saved:.0f} h") if price.lost else ("", "")
        rows.append(
            (time_text(line.opened), lasted, line.level, _where(line), line.job or "", line.rule,
             line.advice.value, *hours)
        )  # fmt: skip
    days = max(test.time - test.started, 1.0) / 86_400
    alerts = [line for line in lines if line.level == ALERT]
    summary = [
        f"{counted(len(lines), 'incident')} in {_days(days)}, {len(alerts)} of them alerts: "
        f"{len(lines) / days:.2f} and {len(alerts) / days:.2f} a day",
        f"device-hours held up {delayed:.0f}; acting at once would have saved {saved:.0f}",
        f"by rule: {_counted(line.rule for line in lines)}",
        f"by node: {_counted(line.node for line in lines if line.node)}",
    ]
    return _aligned(rows) + "".join(f"{printable(text)}\n" for text in summary)


def _days(days: float) -> str:
    text = f"{days:.1f}"
    return "1 day" if text == "1.0" else f"{text} days"


def _where(line: "Line") -> str:
    if line.device:
        return f"{line.node}/{line.device.rpartition(':')[2]}"
    return line.node or f"{len(line.nodes)} nodes"


def _counted(names: "Iterable[str]") -> str:
    most = Counter(names).most_common(_MOST)
    return ", ".join(f"{name} {count}" for name, count in most) or "none"


def _aligned(rows: "Sequence[tuple[str, ...]]") -> str:
    shown = [_HEAD, *(tuple(printable(cell) for cell in row) for row in rows)]
    return "".join(f"{line}\n" for line in columns(shown))
