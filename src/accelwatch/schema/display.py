"""Numbers for people: percent, GiB, MHz. Values are rounded only here."""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

from accelwatch.base.untrusted_text import printable as printable  # noqa: PLC0414 - offered from here too
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.series import series_of

# Unit to factor, digits and what is behind the number.
_SCALED = {
    "ratio": (100.0, 0, "%"),
    "celsius": (1.0, 0, " °C"),
    "watts": (1.0, 0, " W"),
    "hertz": (1e-6, 0, " MHz"),
    "volts": (1.0, 3, " V"),
    "amperes": (1.0, 1, " A"),
}
_VENDOR_PREFIXES = ("NVIDIA ", "AMD ", "Advanced Micro Devices, Inc. ", "Intel(R) ", "Intel ")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def utf8(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream can show more than ASCII; false for a closed one.

    Python writes UTF-8 in the C locale too (PEP 540), so an explicitly set locale is checked first.
    """
    if stream is None or environ.get("TERM") == "dumb" or _plain_locale(environ):
        return False
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _plain_locale(environ: Mapping[str, str]) -> bool:
    """Whether C or POSIX was set. Python adds an LC_CTYPE of its own to LANG=C (PEP 538)."""
    plain = ("C", "POSIX")
    if everything := environ.get("LC_ALL"):
        return everything in plain
    own = environ.get("LC_CTYPE") or "C.UTF-8"
    return own in plain or (own == "C.UTF-8" and environ.get("LANG") in plain)


def colour(choice: str, stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: `always`, `never`, or `auto` by terminal, NO_COLOR, FORCE_COLOR, TERM=dumb."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream is not None and stream.isatty())


def without_vendor(model: str) -> str:
    """A model's name without its vendor's, which the device's own name has already."""
    for prefix in _VENDOR_PREFIXES:
        model = model.removeprefix(prefix)
    return model


def terminal_width() -> int:
    """Cells of a line of the terminal that is written to; COLUMNS goes before what it says."""
    return shutil.get_terminal_size().columns


def size(value: float) -> str:
    """Bytes with a binary unit and three significant digits."""
    number, unit = float(value), 0
    while abs(number) >= 1000 and unit < len(_BINARY) - 1:
        number /= 1024
        unit += 1
    digits = 0 if unit == 0 or abs(number) >= 100 else 1
    return f"{number:.{digits}f} {_BINARY[unit]}"


def counted(number: int, what: str) -> str:
    """`1 window`, `2 windows`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h`, `2 d`."""
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def short_duration(seconds: float) -> str:
    """Time that is counted and compared: `42 s`, `1.4 min`, `2.3 h`, never in days."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    number, unit = (seconds / 60, "min") if seconds < 3597 else (seconds / 3600, "h")
    return f"{number:.{0 if number >= 99.95 else 1}f} {unit}"


def energy(joules: float) -> str:
    """`12 Wh`, `1.2 kWh`, `1.5 MWh`; below 10 Wh with a decimal."""
    number, units = joules / 3600, iter(("Wh", "kWh", "MWh"))
    unit = next(units)
    for larger in units:
        if abs(number) < 999.5:
            break
        number, unit = number / 1000, larger
    threshold = 9.95 if unit == "Wh" else 99.95
    return f"{number:.{0 if abs(number) >= threshold else 1}f} {unit}"


def quantity(name: str, value: object, *, ascii_only: bool = False) -> str:
    """A field's value for a table; `name` is the field's name and decides the unit."""
    if isinstance(value, str) or not isinstance(value, int | float):
        return str(value)
    row = by_key().get(series_of(name)[0])
    unit = row.unit if row else ""
    if unit in ("bytes", "bytes/s"):
        return size(value) + unit.removeprefix("bytes")
    if unit == "seconds":
        return duration(value)
    if unit == "joules":
        return energy(value)
    if unit in _SCALED:
        factor, digits, symbol = _SCALED[unit]
        shown = f"{value * factor:.{digits}f}{symbol}"
        return shown.replace("°", "") if ascii_only else shown
    return f"{value:g}" if isinstance(value, float) else str(value)


def stdout_is_terminal() -> bool:
    """Whether stdout is a terminal; false when it is closed."""
    return sys.stdout is not None and not sys.stdout.closed and sys.stdout.isatty()
