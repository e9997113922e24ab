"""From nodes to checked values, driven by the types of a settings struct."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from accelwatch.config.forms import FORMS, duration_text, expected
from accelwatch.located_yaml import nodes, tree
from accelwatch.located_yaml.nodes import PlainReader, kind
from accelwatch.plugins.options import expected_words


class Mistake(Exception):  # noqa: N818 - it is one in the user's file, and becomes a complaint
    """A value does not fit; the text says what is wrong and what is expected.

    `inside` gives the mistakes of plain data, each with its own line and its place in that data.
    """

    def __init__(self, text: str, *, inside: tuple[nodes.Mistake, ...] = ()) -> None:
        super().__init__(text)
        self.inside = inside

    def under(self, key: str, node: tree.Node) -> list[nodes.Mistake]:
        """As mistakes of the mapping that has the node under a key."""
        inside = self.inside or (nodes.Mistake(nodes.line(node), (), str(self)),)
        return [msgspec.structs.replace(mistake, place=(key, *mistake.place)) for mistake in inside]


def convert(wanted: inspect.Type, node: tree.Node, base: Path) -> Any:
    """The node as a value of the type; relative paths are resolved against `base`. Raises Mistake."""
    form = ""
    if isinstance(wanted, inspect.Metadata):
        form = (wanted.extra or {}).get("form", "")
        wanted = wanted.type
    if isinstance(wanted, inspect.UnionType):
        return _optional(wanted, node, base)
    if isinstance(wanted, inspect.VarTupleType):
        return tuple(_items(wanted.item_type, node, base))
    if isinstance(wanted, inspect.FrozenSetType):
        return frozenset(_items(wanted.item_type, node, base))
    if isinstance(wanted, inspect.DictType):
        return _mapping(wanted, node, base)
    if not isinstance(node, tree.Scalar):
        raise Mistake(f"{_shape(node)} is out of place; expected {describe(wanted, form)}")
    if form:
        return _formed(form, wanted, node, base)
    return _scalar(wanted, node)


def _optional(wanted: inspect.UnionType, node: tree.Node, base: Path) -> Any:
    inner = next(part for part in wanted.types if not isinstance(part, inspect.NoneType))
    if kind(node) != "null":
        return convert(inner, node, base)
    if node.value:  # `null`, in so many words
        return None
    # A template whose variable was not set must not have a server that asks nobody who he is.
    raise Mistake(f"is empty; write {describe_item(inner)}, or leave the key out")


def _items(wanted: inspect.Type, node: tree.Node, base: Path) -> list[Any]:
    """Items of a list; a single value stands for a list of one."""
    if isinstance(node, tree.Sequence):
        return [convert(wanted, item, base) for item in node.value]
    if isinstance(node, tree.Mapping) or kind(node) == "null":
        raise Mistake(f"{_shape(node)} is out of place; expected a list of {describe_item(wanted)}")
    return [convert(wanted, node, base)]


def _mapping(wanted: inspect.DictType, node: tree.Node, base: Path) -> dict[str, Any]:
    if not isinstance(node, tree.Mapping):
        raise Mistake(f"{_shape(node)} is out of place; expected a mapping")
    free = isinstance(wanted.value_type, inspect.CustomType | inspect.AnyType)
    given: dict[str, Any] = {}
    mistakes: list[nodes.Mistake] = []
    for key_node, value in nodes.pairs(node, (), mistakes):
        key = str(key_node.value)
        try:
            given[key] = plain(value) if free else convert(wanted.value_type, value, base)
        except Mistake as mistake:
            mistakes += mistake.under(key, value)
    if mistakes:
        raise Mistake(mistakes[0].text, inside=tuple(mistakes))
    return given


def plain(node: tree.Node) -> Any:
    """The node as plain data, for mappings that are passed through. Raises Mistake."""
    reader = PlainReader()
    data = reader.read(node)
    if reader.mistakes:
        raise Mistake(reader.mistakes[0].text, inside=tuple(reader.mistakes))
    return data


def _formed(form: str, wanted: inspect.Type, node: tree.Scalar, base: Path) -> Any:
    # YAML reads 22:00 as a number of base sixty.
    numbers = form in ("duration", "address", "share", "time_of_day", "price")
    allowed = ("str", "int", "float") if numbers else ("str",)
    if kind(node) not in allowed:
        raise Mistake(f"{_shown(node)} is out of place; expected {expected(form)}")
    try:
        value = FORMS[form].parse(node.value, base)
    except ValueError as error:
        raise Mistake(f"{error}; expected {expected(form)}") from error
    if isinstance(wanted, inspect.FloatType) and isinstance(value, float):
        _check_range(wanted, value, _shown(node), describe(wanted, form))
    return value


def _scalar(wanted: inspect.Type, node: tree.Scalar) -> Any:
    text, tag = str(node.value), kind(node)
    if isinstance(wanted, inspect.BoolType) and tag == "bool":
        return text.lower() in ("true", "yes", "on")
    if isinstance(wanted, inspect.LiteralType) and text in wanted.values:
        return text
    if isinstance(wanted, inspect.StrType) and tag == "str":
        return text
    if isinstance(wanted, inspect.IntType) and tag == "int" and text.lstrip("+-").isdecimal():
        number = int(text) if len(text) < 20 else 1 << 64
        _check_range(wanted, number, text, describe(wanted, ""))
        return number
    hint = "; put it in quotes" if isinstance(wanted, inspect.StrType) else ""
    raise Mistake(f"{_shown(node)} is out of place; expected {describe(wanted, '')}{hint}")


def _check_range(
    wanted: inspect.IntType | inspect.FloatType, value: float, shown: str, range_: str
) -> None:
    if (wanted.ge is not None and value < wanted.ge) or (
        wanted.le is not None and value > wanted.le
    ):
        raise Mistake(f"{shown} is out of range; expected {range_}")


def describe(wanted: inspect.Type, form: str) -> str:
    """What a value of a type looks like, in words."""
    if isinstance(wanted, inspect.FloatType) and wanted.ge is not None and wanted.le is not None:
        if form == "share":
            return f"{expected(form)}, from {wanted.ge:.0%} to {wanted.le:.0%}"
        return f"a duration from {duration_text(wanted.ge)} to {duration_text(wanted.le)}"
    if form:
        return expected(form)
    plain = inspect.IntType | inspect.LiteralType | inspect.BoolType
    return expected_words(wanted) if isinstance(wanted, plain) else "text"


def describe_item(wanted: inspect.Type) -> str:
    """What an item of a list looks like."""
    if isinstance(wanted, inspect.Metadata):
        return describe(wanted.type, (wanted.extra or {}).get("form", ""))
    return describe(wanted, "")


def _shown(node: tree.Node) -> str:
    text = str(node.value) if isinstance(node, tree.Scalar) else _shape(node)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _shape(node: tree.Node) -> str:
    if isinstance(node, tree.Mapping):
        return "a mapping"
    return "a list" if isinstance(node, tree.Sequence) else _shown(node)
