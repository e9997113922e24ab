"""From nodes to checked values, driven by the types of a settings struct."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from accelwatch.config.forms import FORMS, duration_text, expected
from accelwatch.plugins.options import describe_type
from accelwatch.system.located_yaml import nodes, tree
from accelwatch.system.located_yaml.nodes import PlainReader, kind


class Mistake(Exception):  # noqa: N818 - it is one in the user's file, and becomes a complaint
    """A value does not fit; the text says what is wrong and what is expected.

    `inside` gives the mistakes of plain data, each with its own line and its path in that data.
    """

    def __init__(self, text: str, *, inside: tuple[nodes.Mistake, ...] = ()) -> None:
        super().__init__(text)
        self.inside = inside

    def under(self, key: str, node: tree.Node) -> list[nodes.Mistake]:
        """As mistakes of the mapping that has the node under a key."""
        inside = self.inside or (nodes.Mistake(nodes.line(node), (), str(self)),)
        return [
            msgspec.structs.replace(mistake, location=(key, *mistake.location))
            for mistake in inside
        ]


def convert(field_type: inspect.Type, node: tree.Node, base: Path) -> Any:
    """The node as a value of the type; relative paths are resolved against `base`. Raises Mistake."""
    form = ""
    if isinstance(field_type, inspect.Metadata):
        form = (field_type.extra or {}).get("form", "")
        field_type = field_type.type
    if isinstance(field_type, inspect.UnionType):
        return _optional(field_type, node, base)
    if isinstance(field_type, inspect.VarTupleType):
        return tuple(_items(field_type.item_type, node, base))
    if isinstance(field_type, inspect.FrozenSetType):
        return frozenset(_items(field_type.item_type, node, base))
    if isinstance(field_type, inspect.DictType):
        return _mapping(field_type, node, base)
    if not isinstance(node, tree.Scalar):
        raise Mistake(f"{_shape(node)} is not valid here; expected {describe(field_type, form)}")
    if form:
        return _formed(form, field_type, node, base)
    return _scalar(field_type, node)


def _optional(field_type: inspect.UnionType, node: tree.Node, base: Path) -> Any:
    inner = next(member for member in field_type.types if not isinstance(member, inspect.NoneType))
    if kind(node) != "null":
        return convert(inner, node, base)
    if node.value:  # `null`, in so many words
        return None
    # A template whose variable was not set must not lead to a server without authentication.
    raise Mistake(f"is empty; write {describe_item(inner)}, or leave the key out")


def _items(field_type: inspect.Type, node: tree.Node, base: Path) -> list[Any]:
    """Items of a list; a single value stands for a list of one."""
    if isinstance(node, tree.Sequence):
        return [convert(field_type, item, base) for item in node.value]
    if isinstance(node, tree.Mapping) or kind(node) == "null":
        raise Mistake(
            f"{_shape(node)} is not valid here; expected a list of {describe_item(field_type)}"
        )
    return [convert(field_type, node, base)]


def _mapping(field_type: inspect.DictType, node: tree.Node, base: Path) -> dict[str, Any]:
    if not isinstance(node, tree.Mapping):
        raise Mistake(f"{_shape(node)} is not valid here; expected a mapping")
    free = isinstance(field_type.value_type, inspect.CustomType | inspect.AnyType)
    converted: dict[str, Any] = {}
    mistakes: list[nodes.Mistake] = []
    for key_node, value in nodes.pairs(node, (), mistakes):
        key = str(key_node.value)
        try:
            converted[key] = plain(value) if free else convert(field_type.value_type, value, base)
        except Mistake as mistake:
            mistakes += mistake.under(key, value)
    if mistakes:
        raise Mistake(mistakes[0].text, inside=tuple(mistakes))
    return converted


def plain(node: tree.Node) -> Any:
    """The node as plain data, for mappings that are passed through. Raises Mistake."""
    reader = PlainReader()
    data = reader.read(node)
    if reader.mistakes:
        raise Mistake(reader.mistakes[0].text, inside=tuple(reader.mistakes))
    return data


def _formed(form: str, field_type: inspect.Type, node: tree.Scalar, base: Path) -> Any:
    # YAML reads 22:00 as a number of base sixty.
    numbers = form in ("duration", "address", "share", "time_of_day", "price", "figure")
    allowed = ("str", "int", "float") if numbers else ("str",)
    if kind(node) not in allowed:
        raise Mistake(f"{_shown(node)} is not valid here; expected {expected(form)}")
    try:
        value = FORMS[form].parse(node.value, base)
    except ValueError as error:
        raise Mistake(f"{error}; expected {expected(form)}") from error
    if isinstance(field_type, inspect.FloatType) and isinstance(value, float):
        _check_range(field_type, value, _shown(node), describe(field_type, form))
    return value


def _scalar(field_type: inspect.Type, node: tree.Scalar) -> Any:
    text, tag = str(node.value), kind(node)
    if isinstance(field_type, inspect.BoolType) and tag == "bool":
        return text.lower() in ("true", "yes", "on")
    if isinstance(field_type, inspect.LiteralType) and text in field_type.values:
        return text
    if isinstance(field_type, inspect.StrType) and tag == "str":
        return text
    if isinstance(field_type, inspect.IntType) and tag == "int" and text.lstrip("+-").isdecimal():
        number = int(text) if len(text) < 20 else 1 << 64
        _check_range(field_type, number, text, describe(field_type, ""))
        return number
    hint = "; put it in quotes" if isinstance(field_type, inspect.StrType) else ""
    raise Mistake(f"{_shown(node)} is not valid here; expected {describe(field_type, '')}{hint}")


def _check_range(
    field_type: inspect.IntType | inspect.FloatType, value: float, shown: str, range_: str
) -> None:
    if (field_type.ge is not None and value < field_type.ge) or (
        field_type.le is not None and value > field_type.le
    ):
        raise Mistake(f"{shown} is out of range; expected {range_}")


def describe(field_type: inspect.Type, form: str) -> str:
    """What a value of a type looks like, in words."""
    if (
        isinstance(field_type, inspect.FloatType)
        and field_type.ge is not None
        and field_type.le is not None
    ):
        if form == "share":
            return f"{expected(form)}, from {field_type.ge:.0%} to {field_type.le:.0%}"
        return f"a duration from {duration_text(field_type.ge)} to {duration_text(field_type.le)}"
    if form:
        return expected(form)
    plain = inspect.IntType | inspect.LiteralType | inspect.BoolType
    return describe_type(field_type) if isinstance(field_type, plain) else "text"


def describe_item(field_type: inspect.Type) -> str:
    """What an item of a list looks like."""
    if isinstance(field_type, inspect.Metadata):
        return describe(field_type.type, (field_type.extra or {}).get("form", ""))
    return describe(field_type, "")


def _shown(node: tree.Node) -> str:
    text = str(node.value) if isinstance(node, tree.Scalar) else _shape(node)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _shape(node: tree.Node) -> str:
    if isinstance(node, tree.Mapping):
        return "a mapping"
    return "a list" if isinstance(node, tree.Sequence) else _shown(node)
