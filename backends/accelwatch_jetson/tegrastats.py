"""A line of `tegrastats`, parsed. Pure; a field that is bad or not known hides no other.

Releases and modules differ: `GR3D 45%@921`, `GR3D_FREQ 62%`, `GR3D_FREQ 0%@[114]`, `NVENC off`,
`GR3D_FREQ @[1000,1000]`, `NVENC 115`, `gpu@45.5C`, `gpu@45.5C/46C`, `VDD_IN 1183/1183`,
`VDD_IN 5500mW/5500mW/5500mW`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from accelwatch.backend.kit.text.quantity import CELSIUS, PERCENT, WATTS, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.system.kernel.supply_rails import Rail, rail_name
from accelwatch_jetson import thermal

# APE is the audio processor and none of ours.
_ENGINES = {
    "NVENC": "encoder",
    "MSENC": "encoder",
    "NVDEC": "decoder",
    "VDE": "decoder",
    "NVJPG": "jpeg",
    "OFA": "optical_flow",
    "VIC": "vic",
    "NVDLA": "dla",
    "DLA": "dla",
    "PVA": "pva",
}
_ENGINE = re.compile(r"([A-Z]+?)(\d?)(?:_FREQ)?")
_USE = re.compile(
    r"(?:(?P<share>-?[\d.]+)%)?(?:@(?:\[(?P<clocks>[\d.,]*)\]|(?P<clock>-?[\d.]+)))?", re.ASCII
)
_TEMPERATURE = re.compile(r"([A-Za-z][\w.-]*)@(-?[\d.]+)C(?:/-?[\d.]+C)?", re.ASCII)
# What is drawn now, on average, and in newer releases at most; a monitor whose offset is off says less
# than nothing, as of the GPU of a Thor at rest.
_POWER = re.compile(r"(-?\d+(?:\.\d+)?)(?:mW)?(?:/-?\d+(?:\.\d+)?(?:mW)?){1,2}", re.ASCII)
_NO_RAIL = frozenset({"RAM", "SWAP", "IRAM"})
_MEGAHERTZ = 1e6
_FASTEST = 10_000
_FULL, _SLACK = 1.0, 0.01
# A sensor that is switched off says -256.
_COLDEST, _HOTTEST = -60.0, 200.0


class Line(NamedTuple):
    """What one line says, in base units."""

    values: dict[Series, float | Absence]
    rails: list[Rail]


class _Use(NamedTuple):
    share: float | Absence
    hertz: float | Absence


def parse(text: str) -> Line:
    """The line; empty where nothing in it is known."""
    tokens = re.sub(r"\([^)]*\)", " ", text).split()
    pairs = list(pairwise([*tokens, ""]))
    values = _temperatures(tokens)
    for name, value in pairs:
        if name in ("GR3D", "GR3D_FREQ"):
            _record(values, _use(value), "utilization_ratio", "graphics")
        elif name in ("EMC", "EMC_FREQ"):
            _record(values, _use(value), "memory_controller_utilization_ratio", "memory")
    for engine, value in _engines(pairs):
        use = _use(value, off=True)
        values.setdefault(("engine_utilization_ratio", engine), use.share)
    rails: dict[str, Rail] = {}
    for name, value in pairs:
        rail, match = rail_name(name), _POWER.fullmatch(value)
        if rail and match and name not in _NO_RAIL and not name[0].isdigit():
            watts = quantity(f"{match[1]}mW", WATTS)
            if not isinstance(watts, Absence) and watts < 0:
                watts = Absence.ERROR
            rails.setdefault(rail, Rail(rail, Absence.UNSUPPORTED, Absence.UNSUPPORTED, watts))
    return Line(values, list(rails.values()))


def _record(values: dict[Series, float | Absence], use: _Use, key: str, domain: str) -> None:
    values.setdefault((key,), use.share)
    values.setdefault(("clock_hertz", domain), use.hertz)


def _engines(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Label and use of each; those of which there are several have their number."""
    engines = []
    for name, use in pairs:
        match = _ENGINE.fullmatch(name)
        if match and match[1] in _ENGINES:
            engines.append((_ENGINES[match[1]], match[2], use))
    several = Counter(engine for engine, _, _ in engines)
    for engine, number, use in engines:
        yield (f"{engine}{number}" if several[engine] > 1 else engine), use


def _use(text: str, *, off: bool = False) -> _Use:
    """Busy share and clock of `12%@1300` and its relatives; an engine that is off does nothing."""
    if off and text == "off":
        return _Use(0.0, Absence.UNSUPPORTED)
    if off and text.isascii() and text.isdecimal():
        return _Use(Absence.UNSUPPORTED, _hertz([text]))
    match = _USE.fullmatch(text)
    if match is None or not text:
        return _Use(Absence.ERROR, Absence.ERROR)
    clocks = [match["clock"]] if match["clock"] else (match["clocks"] or "").split(",")
    return _Use(_share(match["share"]), _hertz([clock for clock in clocks if clock]))


def _share(text: str | None) -> float | Absence:
    if text is None:
        return Absence.UNSUPPORTED
    share = quantity(text, PERCENT)
    if isinstance(share, Absence) or not 0 <= share <= _FULL + _SLACK:
        return Absence.ERROR
    return min(share, _FULL)


def _hertz(clocks: list[str]) -> float | Absence:
    """Of several clusters the fastest; megahertz."""
    if not clocks:
        return Absence.UNSUPPORTED
    readings = [quantity(clock, {"": 1.0}) for clock in clocks]
    good = [
        clock for clock in readings if not isinstance(clock, Absence) and 0 <= clock <= _FASTEST
    ]
    return max(good) * _MEGAHERTZ if len(good) == len(clocks) else Absence.ERROR


def _temperatures(tokens: list[str]) -> dict[Series, float | Absence]:
    """The hottest of each sensor; one that is switched off has no temperature."""
    hottest: dict[Series, float | Absence] = {}
    for match in map(_TEMPERATURE.fullmatch, tokens):
        sensor = thermal.sensor_of(match[1]) if match else None
        if match is None or sensor is None:
            continue
        celsius, series = quantity(match[2], CELSIUS), ("temperature_celsius", sensor)
        if not isinstance(celsius, Absence) and not _COLDEST <= celsius < _HOTTEST:
            celsius = Absence.UNSUPPORTED
        before = hottest.get(series)
        if isinstance(celsius, Absence):
            hottest.setdefault(series, celsius)
        elif before is None or isinstance(before, Absence) or celsius > before:
            hottest[series] = celsius
    return hottest
