"""What a field of nvidia-smi's query dialect is, and how to look one up; the rows are in `rows`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.schema.metrics import Series, by_key, nearest
from accelwatch.schema.reading import Number

MIB = 1 << 20
NOT_AVAILABLE = "[N/A]"

Write = Callable[[Number], str]


class QueryField(msgspec.Struct, frozen=True):
    """One field: names (the first is the one that is printed), unit, and where the answer is.

    `identity` is a field of Device; `special` is a name in `answers`, and `series` beside it is what it
    is made of. With none of them, nvidia-smi has the field and we do not read it: `[N/A]`.
    """

    names: tuple[str, ...]
    unit: str = ""
    identity: str = ""
    series: Series = ()
    write: Write = str
    special: str = ""
    # Catalogue keys that `special` looks at and that may be opt-in.
    needs: tuple[str, ...] = ()
    # What stands for no value: a few fields have no brackets.
    missing: str = NOT_AVAILABLE

    @property
    def read(self) -> bool:
        """Whether there ever is an answer."""
        return bool(self.identity or self.series or self.special)


# Built on first use: other commands do not need the tables. Constant after that.
@cache
def query_fields() -> dict[str, QueryField]:
    """Every name and alias that `--query-gpu` may be asked for."""
    from accelwatch_nvidia_smi.rows import FIELDS

    return {name: field for field in FIELDS for name in field.names}


def parse_names(
    text: str, by_name: Mapping[str, QueryField], option: str
) -> tuple[QueryField, ...]:
    """The fields of a list after an option. Raises UsageError that names the wrong one."""
    fields: list[QueryField] = []
    for name in (piece.strip() for piece in text.split(",")):
        if name not in by_name:
            close = nearest(name, list(by_name))
            hint = f"; did you mean {close}?" if close else ""
            raise UsageError(
                f"{name!r} is not a field of {option}{hint} ({option}=help lists them)"
            )
        fields.append(by_name[name])
    return tuple(fields)


def parse_format(text: str, option: str) -> tuple[bool, bool]:
    """(header, units) of a `--format` value. Raises UsageError."""
    keywords = [keyword.strip() for keyword in text.split(",")]
    for keyword in keywords:
        if keyword not in ("csv", "noheader", "nounits"):
            raise UsageError(
                f"--format with {option} takes csv, noheader and nounits, not {keyword!r}"
            )
    if "csv" not in keywords:
        raise UsageError(f"{option} needs --format=csv[,noheader][,nounits]")
    return "noheader" not in keywords, "nounits" not in keywords


def needed_groups(fields: Iterable[QueryField]) -> frozenset[str]:
    """The opt-in groups that the fields' quantities are in."""
    keys = {key for field in fields for key in (*field.series[:1], *field.needs)}
    return frozenset(by_key()[key].group for key in keys) - {""}
