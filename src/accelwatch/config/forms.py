"""Values that are written as text but mean something: durations, addresses, paths, group names."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.base import durations
from accelwatch.base.names.nearest import nearest
from accelwatch.config.figures import Figure, figure
from accelwatch.schema.catalogue.lookup import opt_in_groups

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PORT_MAX = 65535


class Form(msgspec.Struct, frozen=True):
    """How a text is read; `parse(text, base)` raises ValueError with what is wrong."""

    parse: Callable[[str, Path], object]
    expected: str


def seconds(text: str) -> float:
    """`500ms`, `1s`, `5m`, `1.5h`, `1d` or a bare number of seconds. Raises ValueError."""
    if not text.isascii() or not durations.is_duration(text):
        raise ValueError(f"{text!r} is not a valid duration")
    return round(durations.seconds(text), 9)


def duration_text(seconds_: float) -> str:
    """The shortest of the forms that `seconds` reads."""
    for unit in ("d", "h", "m", "s"):
        count = seconds_ / _SECONDS[unit]
        if seconds_ and count == int(count):
            return f"{int(count)}{unit}"
    if seconds_ < 1:
        return f"{round(seconds_ * 1000, 6):g}ms"
    return f"{seconds_:g}s"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:9877`, `[::1]:9877` or `:9877` (every address). Raises ValueError."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > _PORT_MAX:
        raise ValueError(f"{text!r} is not a valid listen address")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], int(port)
    if ":" in host or any(space in host for space in " \t/"):
        raise ValueError(f"{text!r} is not a valid listen address")
    return host, int(port)


def _duration(text: str, _base: Path) -> float:
    return seconds(text)


def _address(text: str, _base: Path) -> str:
    split_address(text)
    return text.strip()


def _host(text: str, _base: Path) -> str:
    if not text.strip() or any(character in text.strip() for character in ":/* \t[]"):
        raise ValueError(f"{text!r} is not a valid host name")
    return text.strip()


def _path(text: str, base: Path) -> str:
    if not text or "\0" in text:
        raise ValueError(f"{text!r} is not a valid path")
    return str(base / text)


def _group(text: str, _base: Path) -> str:
    if text not in opt_in_groups():
        close = nearest(text, list(opt_in_groups()))
        raise ValueError(
            f"no opt-in group {text!r}" + (f", did you mean {close}?" if close else "")
        )
    return text


def _time_of_day(text: str, _base: Path) -> str:
    hour, colon, minute = text.strip().partition(":")
    well = hour.isascii() and hour.isdecimal() and minute.isascii() and minute.isdecimal()
    if not (colon and well and len(minute) == 2 and int(hour) < 24 and int(minute) < 60):
        raise ValueError(f"{text!r} is not a valid time of day")
    return f"{int(hour):02}:{minute}"


def _time_zone(text: str, _base: Path) -> str:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(text)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"no time zone {text!r} on this machine") from error
    return text


def _name(text: str, _base: Path) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", text):
        raise ValueError(f"{text!r} is not a valid name")
    return text


def _share(text: str, _base: Path) -> float:
    number = text.strip().removesuffix("%").strip()
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", number, re.ASCII):
        raise ValueError(f"{text!r} is not a valid share")
    return float(number) / (100 if text.strip().endswith("%") else 1)


def _price(text: str, _base: Path) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?|\.\d{1,6}", text.strip(), re.ASCII):
        raise ValueError(f"{text!r} is not a valid price")
    return float(text)


def _figure(text: str, _base: Path) -> Figure:
    return figure(text)


def _currency(text: str, _base: Path) -> str:
    if not re.fullmatch(r"[^\W\d_]{0,8}|[$\u00a3\u00a5\u20ac]", text):
        raise ValueError(f"{text!r} is not a valid currency")
    return text


FORMS: dict[str, Form] = {
    "duration": Form(_duration, "a duration such as 500ms, 1s or 5m"),
    "address": Form(_address, 'host:port such as "127.0.0.1:9877", "[::1]:9877" or ":9877"'),
    "host": Form(_host, "a host name without port, such as gpu7.example.org"),
    "path": Form(_path, "a path"),
    "group": Form(_group, "one of " + "<groups>"),
    "time_of_day": Form(_time_of_day, "a time of day such as 22:00"),
    "time_zone": Form(_time_zone, "a name of the tz database such as Europe/Berlin"),
    "share": Form(_share, "a share such as 5% or 0.05"),
    "price": Form(_price, "a number from 0 to 999999 such as 0.30"),
    "figure": Form(_figure, "a number and its unit such as 46.8 GB/s"),
    "currency": Form(_currency, "a word of at most 8 letters such as EUR"),
    "name": Form(_name, "a name of letters, digits, dots and dashes"),
}


def expected(form: str) -> str:
    """What a value of a form looks like."""
    return FORMS[form].expected.replace("<groups>", ", ".join(opt_in_groups()))
