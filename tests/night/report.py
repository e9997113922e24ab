"""The report of a night: each fault and what came of it, then what must be so and is not."""

from typing import TYPE_CHECKING

from night.observer import Property, clock

if TYPE_CHECKING:
    from night.play import Night

_HEAD = ("when", "what", "node", "drained after", "job", "runs after", "messages", "end")


def broken(night: "Night") -> dict[Property, list[str]]:
    """What is not as it must be, by property."""
    found = dict(night.observer.broken)
    audit = night.audit
    if audit is None or not audit.is_well:
        found[Property.AUDIT] = [f"{audit}"]
    return found


def report(night: "Night") -> str:
    """A table by fault, and the verdict."""
    counted: dict[str, int] = {}
    for _, notice in night.phone.messages:
        counted[notice.key] = counted.get(notice.key, 0) + 1
    rows: list[tuple[str, ...]] = [_HEAD]
    for fault in sorted(night.scenario.faults, key=lambda one: one.at):
        nodes = fault.nodes[0] if len(fault.nodes) == 1 else f"{len(fault.nodes)} nodes"
        sums = "+".join(str(counted[key]) for key in sorted(fault.incidents))
        rows.append(
            (
                clock(fault.at),
                str(fault.kind),
                nodes,
                _seconds(fault.drained_after_s),
                fault.job or "-",
                _seconds(fault.runs_after_s) if fault.job else "-",
                sums or "0",
                fault.end,
            )
        )
    rows += [
        (clock(at), str(what), *[""] * (len(_HEAD) - 2)) for at, what in night.scenario.restarts
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    lines = [f"seed {night.scenario.seed}: a night of 8 hours, {len(night.scenario.faults)} faults"]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, "", *_verdict(night)])


def _verdict(night: "Night") -> list[str]:
    lines = []
    for what, texts in broken(night).items():
        lines.append(f"{'holds' if not texts else 'BROKEN'}: {what}")
        lines += [f"    {text}" for text in texts]
    return lines


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} s"
