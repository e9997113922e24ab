"""A row of the tables of `nvidia-smi -q -x`: the paths of a series, and how text becomes a number."""

from collections.abc import Callable
from functools import partial

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch_nvidia.mapping import Outcome
from accelwatch_nvidia.smi import text as smi_text


class TextRow(msgspec.Struct, frozen=True):
    """One series: its paths below `gpu` and how its text becomes a number."""

    series: Series
    paths: tuple[str, ...]
    convert: Callable[[str], Outcome]
    group: str = ""


RATIO = partial(smi_text.number, kind="ratio")
FAN = partial(smi_text.number, kind="fan_ratio")
CELSIUS = partial(smi_text.number, kind="celsius")
WATTS = partial(smi_text.number, kind="watts")
HERTZ = partial(smi_text.number, kind="hertz")
BYTES = partial(smi_text.number, kind="bytes")
SECONDS = partial(smi_text.number, kind="seconds")
RATE = partial(smi_text.number, kind="bytes_per_second")
VOLTS = partial(smi_text.number, kind="volts")
COUNT = partial(smi_text.number, kind="count")
LANES = partial(smi_text.number, kind="lanes")
