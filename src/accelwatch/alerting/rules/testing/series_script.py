"""How the values of a series over the ticks of a test are written: `600 x30, 200 x60, _ x3, 0+5 x10`."""

import re

from accelwatch.base.errors import ConfigError

MOST_TICKS = 20_000
_UNSIGNED = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SEGMENT = re.compile(
    rf"(?:(?P<none>_)|(?P<begin>[+-]?{_UNSIGNED})(?P<step>[+-]{_UNSIGNED})?)(?:\s*x\s*(?P<times>\d{{1,6}}))?"
)


def values_of(written: object) -> list[float | None]:
    """The values, a tick each; None is no value. Raises ConfigError.

    `600 x30` is 600 for thirty ticks, `0+5 x10` begins with 0 and grows by 5 a tick, `_` is no value.
    """
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise ConfigError("a number, or text such as 600 x30, 200 x60")
    values: list[float | None] = []
    for segment in str(written).split(","):
        match = _SEGMENT.fullmatch(segment.strip())
        if match is None:
            raise ConfigError(
                f"{segment.strip()!r} is not understood; write 600 x30, _ x3 or 0+5 x10"
            )
        times = int(match["times"] or 1)
        if len(values) + times > MOST_TICKS:
            raise ConfigError(f"more than {MOST_TICKS} ticks")
        if match["none"]:
            values += [None] * times
        else:
            start, step = float(match["begin"]), float(match["step"] or 0)
            values += [start + step * at for at in range(times)]
    return values
