"""The fields of nvidia-smi's query dialect by name, and what a command line says of them."""

from collections.abc import Iterable, Mapping
from functools import cache

from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch_nvidia_smi.query_field import QueryField


# Built on first use: other commands do not need the tables. Constant after that.
@cache
def query_fields() -> dict[str, QueryField]:
    """Every name and alias that `--query-gpu` accepts."""
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
