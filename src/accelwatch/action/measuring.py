"""What a test that measures has printed, read by every action alike. Pure.

A test prints, as its last line, `{"value": 1.1e9, "unit": "bytes_per_second"}`; more is better. What
nccl-tests and rccl-tests print is read as it is.
"""

import math
import re

import msgspec

from accelwatch.action.step import Measured
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.untrusted_text import escaped

BYTES_PER_SECOND = "bytes_per_second"
# Characters of a test's last words that are kept for people.
MOST_TEXT = 200
_MOST_UNIT = 40
# Of common.cu of nccl-tests, in 1e9 bytes a second; an average over all requested sizes.
_BUS_BANDWIDTH = re.compile(r"^# Avg bus bandwidth +: +([0-9][0-9.e+-]*)", re.MULTILINE)


class _Figure(msgspec.Struct, frozen=True):
    value: float
    unit: str = ""


def measurement_in_output(output: str, command: str = "") -> Measured | None:
    """The figure in a test's output; None where it has none that can be one."""
    last = output.strip().rpartition("\n")[2].strip()
    if last.startswith("{"):
        try:
            figure = msgspec.json.decode(last, type=_Figure)
        except DECODE_ERRORS:
            return None
        return valid_measurement(figure.value, figure.unit, command)
    matches = _BUS_BANDWIDTH.findall(output)
    if not matches:
        return None
    try:
        return valid_measurement(float(matches[-1]) * 1e9, BYTES_PER_SECOND, command)
    except ValueError:
        return None


def valid_measurement(value: float, unit: str, command: str = "") -> Measured | None:
    """A figure; None for one that nothing can be compared with, such as NaN or less than nothing."""
    if not math.isfinite(value) or value < 0:
        return None
    return Measured(value, escaped(unit)[:_MOST_UNIT], command)


def last_line(output: str) -> str:
    """The last line of a test's output, harmless and short; empty where it printed none."""
    return escaped(output.strip().rpartition("\n")[2].strip())[-MOST_TEXT:]
