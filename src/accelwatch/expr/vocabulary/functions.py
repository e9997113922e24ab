"""The functions of the language, a row each. A function that is not in the table does not exist."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from accelwatch.expr.vocabulary.kleene import Raw, Value, number
from accelwatch.expr.vocabulary.names import Type
from accelwatch.expr.vocabulary.pattern import MAX_SUBJECT, compile_pattern

# Gets the values of the parameters that are not constants; None is a missing value; never raises.
Implementation = Callable[..., Raw]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter. No `types` means any; a `constant` is fixed when the expression is compiled.

    A parameter with a `default` may be left out, and is given by keyword only; it is a constant.
    """

    name: str
    types: tuple[Type, ...] = ()
    constant: bool = False
    default: Value | None = None


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function.

    `build` is called once for each use, with the constants by name, and gives the implementation;
    it raises ValueError with the reason if a constant will not do. With `variadic` the one
    parameter may be repeated, at least twice.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    build: Callable[..., Implementation]
    help: str
    variadic: bool = False


_NUMBERS = (Type.NUMBER, Type.FLAG)
_NUMBER = Parameter(name="number", types=_NUMBERS)
_ANY = Parameter(name="value")


def _plain(implementation: Implementation) -> Callable[[], Implementation]:
    return lambda: implementation


def _unit(name: str, factor: int, meaning: str) -> Function:
    def scaled(value: Raw) -> Raw:
        return None if value is None or isinstance(value, str) else number(value * factor)

    return Function(
        name=name, parameters=(_NUMBER,), result=Type.NUMBER, build=_plain(scaled), help=meaning
    )


def _absolute(value: Raw) -> Raw:
    return None if value is None or isinstance(value, str) else abs(value)


def _least(*values: Raw) -> Raw:
    present = [v for v in values if v is not None and not isinstance(v, str)]
    return min(present) if len(present) == len(values) else None


def _greatest(*values: Raw) -> Raw:
    present = [v for v in values if v is not None and not isinstance(v, str)]
    return max(present) if len(present) == len(values) else None


def _version(value: Raw) -> tuple[int, ...] | None:
    """The leading dotted numbers of a version, trailing zeros dropped: 535.104.05 is (535, 104, 5)."""
    if not isinstance(value, str) or len(value) > MAX_SUBJECT:
        return None
    match = re.match(r"[vV]?([0-9]+(?:\.[0-9]+)*)", value)
    if match is None:
        return None
    numbers = [int(digits) for digits in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _version_less(left: Raw, right: Raw) -> Raw:
    a, b = _version(left), _version(right)
    return None if a is None or b is None else a < b


def _build_matches(*, pattern: str, ignore_case: bool) -> Implementation:
    return compile_pattern(pattern, ignore_case=ignore_case)


_TABLE = (
    Function(
        name="missing",
        parameters=(_ANY,),
        result=Type.BOOL,
        build=_plain(lambda value: value is None),
        help="True if the device gives no current value; never unknown",
    ),
    Function(
        name="present",
        parameters=(_ANY,),
        result=Type.BOOL,
        build=_plain(lambda value: value is not None),
        help="the opposite of missing",
    ),
    Function(
        name="matches",
        parameters=(
            Parameter(name="text", types=(Type.STRING,)),
            Parameter(name="pattern", types=(Type.STRING,), constant=True),
            Parameter(name="ignore_case", types=(Type.BOOL,), constant=True, default=False),
        ),
        result=Type.BOOL,
        build=_build_matches,
        help="whether the regular expression is found anywhere in the text",
    ),
    Function(
        name="version_lt",
        parameters=(
            Parameter(name="version", types=(Type.STRING,)),
            Parameter(name="than", types=(Type.STRING,)),
        ),
        result=Type.BOOL,
        build=_plain(_version_less),
        help="whether the leading dotted numbers of a version are lower, part by part",
    ),
    Function(
        name="abs",
        parameters=(_NUMBER,),
        result=Type.NUMBER,
        build=_plain(_absolute),
        help="the number without its sign",
    ),
    Function(
        name="min",
        parameters=(_NUMBER,),
        result=Type.NUMBER,
        build=_plain(_least),
        help="the least of two or more numbers; missing if one of them is",
        variadic=True,
    ),
    Function(
        name="max",
        parameters=(_NUMBER,),
        result=Type.NUMBER,
        build=_plain(_greatest),
        help="the greatest of two or more numbers; missing if one of them is",
        variadic=True,
    ),
    _unit("KiB", 2**10, "kibibytes in bytes"),
    _unit("MiB", 2**20, "mebibytes in bytes"),
    _unit("GiB", 2**30, "gibibytes in bytes"),
    _unit("TiB", 2**40, "tebibytes in bytes"),
    _unit("MHz", 10**6, "megahertz in hertz"),
    _unit("GHz", 10**9, "gigahertz in hertz"),
)

# Every function by name.
FUNCTIONS: Mapping[str, Function] = MappingProxyType({row.name: row for row in _TABLE})
