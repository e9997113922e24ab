"""Where an incident started, below a graph. Pure."""

from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import fit


def start_marker(since: float, span: tuple[float, float], width: int, sign: str) -> str:
    """`▴ began 07:53:00` below its column; blank where it is not within the span (Unix seconds)."""
    first, end = span
    if not first <= since <= end or end == first:
        return " " * width
    column = min(int((since - first) / (end - first) * width), width - 1)
    label = f"began {fmt.clock_time(since)}"
    if column + len(label) + 2 <= width:
        return fit(f"{' ' * column}{sign} {label}", width)
    before = max(column - len(label) - 1, 0)
    text = f"{' ' * before}{label} {sign}" if column > len(label) else f"{' ' * column}{sign}"
    return fit(text, width)
