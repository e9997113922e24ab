"""One file against one struct type: every value with its line, or every mistake."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from accelwatch.base.errors import ConfigError
from accelwatch.base.names.nearest import unknown_key
from accelwatch.config.convert import Mistake, convert
from accelwatch.system.located_yaml import nodes, tree
from accelwatch.system.located_yaml.complaint import Complaint
from accelwatch.system.located_yaml.nodes import compose, joined, kind, line, read_file


class LocatedValue(msgspec.Struct, frozen=True):
    """A value and where it was given."""

    value: Any
    source: str


# Dotted key, as written in the file, to value; within lists of mappings `section[0].key`.
Values = dict[str, LocatedValue]

# Sections of any file that say how we prove who we are and whom we believe, with what to write.
_CREDENTIALS = {
    "basic_auth": "requests would go without a password: write username and password_file",
    "authorization": "requests would go without a token: write credentials_file",
    "tls_config": "the system's authorities would do: write ca_file",
}
_NUMBER = re.compile(r"\[\d+\]")


class _KeyRules(NamedTuple):
    """Rules on keys besides their types; dotted key to text."""

    refused: Mapping[str, str]
    never_empty: Mapping[str, str]


class Reader:
    """Reads files of one struct type; `refused` gives keys that other programs know a reason.

    `never_empty` gives keys of which an empty value would remove a protection, with what to write.
    """

    def __init__(
        self,
        shape: type[msgspec.Struct],
        refused: Mapping[str, str] | None = None,
        never_empty: Mapping[str, str] | None = None,
    ) -> None:
        self._shape = inspect.type_info(shape)
        self._keys = _KeyRules(refused or {}, never_empty or {})

    def read(self, path: Path) -> tuple[Values, list[Complaint]]:
        """Values and mistakes of a file. Raises ConfigError when it is no YAML or unreadable."""
        return self.parse(read_file(path), path)

    def parse(self, data: bytes, path: Path) -> tuple[Values, list[Complaint]]:
        """The same for content already read; relative paths resolve against the file's folder."""
        root = compose(data, str(path))
        values: Values = {}
        complaints: list[Complaint] = []
        if root is None or kind(root) == "null":
            return values, complaints
        if not isinstance(root, tree.Mapping):
            raise ConfigError(f"{path}:{line(root)}: a mapping is expected at the top")
        base = path.absolute().parent
        walk = _Walk(str(path), base, self._keys, values, complaints)
        walk.struct(root, self._shape, "")
        return values, complaints


class _Walk:
    def __init__(
        self,
        file: str,
        base: Path,
        keys: _KeyRules,
        values: Values,
        complaints: list[Complaint],
    ) -> None:
        self._file = file
        self._base = base
        self._keys = keys
        self._values = values
        self._complaints = complaints

    def struct(self, node: tree.Mapping, shape: inspect.Type, prefix: str) -> None:
        """Read every key of a mapping that stands for a struct."""
        assert isinstance(shape, inspect.StructType)
        fields = {field.encode_name: field.type for field in shape.fields}
        mistakes: list[nodes.Mistake] = []
        for key_node, value in nodes.pairs(node, (), mistakes):
            key = str(key_node.value)
            dotted = joined(prefix, key)
            lacking = self._keys.never_empty.get(dotted) or _CREDENTIALS.get(key)
            if lacking and _is_empty(value):
                text = f"is empty; {lacking}, or leave the key out"
                self._complain(key_node, dotted, text)
            elif key in fields:
                self._value(fields[key], value, key_node, dotted)
            else:
                text = self._keys.refused.get(_NUMBER.sub("", dotted)) or unknown_key(key, fields)
                self._complain(key_node, dotted, text)
        self._complaints += nodes.complaints_of(mistakes, self._file, prefix)

    def _value(self, shape: inspect.Type, node: tree.Node, key: tree.Node, dotted: str) -> None:
        if isinstance(shape, inspect.StructType):
            if isinstance(node, tree.Mapping):
                self.struct(node, shape, dotted)
            elif kind(node) != "null":
                self._complain(node, dotted, "expected a mapping")
            return
        if isinstance(shape, inspect.VarTupleType) and isinstance(
            shape.item_type, inspect.StructType
        ):
            self._structs(shape.item_type, node, key, dotted)
            return
        try:
            value = convert(shape, node, self._base)
        except Mistake as mistake:
            inside = mistake.inside or (nodes.Mistake(line(node), (), str(mistake)),)
            self._complaints += nodes.complaints_of(inside, self._file, dotted)
            return
        self._values[dotted] = LocatedValue(value, f"{self._file}:{line(key)}")
        self._inside(node, dotted)

    def _inside(self, node: tree.Node, dotted: str) -> None:
        """Lines of what a mapping of any keys holds."""
        if isinstance(node, tree.Mapping):
            for key, value in node.value:
                inner = joined(dotted, str(key.value))
                self._values[inner] = LocatedValue(None, f"{self._file}:{line(key)}")
                self._inside(value, inner)

    def _structs(
        self, shape: inspect.StructType, node: tree.Node, key: tree.Node, dotted: str
    ) -> None:
        """A list of mappings; a single one stands for a list of one."""
        structs = []
        items = node.value if isinstance(node, tree.Sequence) else [node]
        for number, item in enumerate(items):
            indexed = f"{dotted}[{number}]"
            alone = _alone(shape)
            if isinstance(item, tree.Mapping):
                self.struct(item, shape, indexed)
            elif alone is not None and kind(item) == "str":
                self._value(alone.type, item, item, f"{indexed}.{alone.encode_name}")
            else:
                self._complain(item, indexed, "expected a mapping")
            self._values[indexed] = LocatedValue(None, f"{self._file}:{line(item)}")
            structs.append(build(shape.cls, self._values, indexed))
        self._values[dotted] = LocatedValue(tuple(structs), f"{self._file}:{line(key)}")

    def _complain(self, node: tree.Node, key: str, text: str) -> None:
        self._complaints.append(Complaint(f"{self._file}:{line(node)}", key, text))


def _is_empty(node: tree.Node) -> bool:
    """Whether a key was written with nothing behind it: null, `""`, `{}` or `[]`."""
    if isinstance(node, tree.Mapping | tree.Sequence):
        return not node.value
    return kind(node) == "null" or not node.value


def _alone(shape: inspect.StructType) -> inspect.Field | None:
    """The field that a text without a mapping stands for, if the struct marks one."""
    for field in shape.fields:
        if isinstance(field.type, inspect.Metadata) and (field.type.extra or {}).get("alone"):
            return field
    return None


def sources_by_key(values: Values) -> dict[str, str]:
    """Where each key was given."""
    return {key: located.source for key, located in values.items()}


def source_of(sources: Mapping[str, str], dotted: str, file: Path | None) -> str:
    """Where a key was given, or the nearest section above it; the file when nothing was."""
    while dotted:
        if dotted in sources:
            return sources[dotted]
        inner = [source for key, source in sources.items() if key.startswith(f"{dotted}.")]
        if inner:
            return inner[0]
        dotted = dotted.rpartition(".")[0]
    return "" if file is None else str(file)


def build(shape: type[msgspec.Struct], values: Values, prefix: str = "") -> Any:
    """The struct with the values that are there, defaults for the rest."""
    info = inspect.type_info(shape)
    assert isinstance(info, inspect.StructType)
    arguments: dict[str, Any] = {}
    for field in info.fields:
        dotted = joined(prefix, field.encode_name)
        if isinstance(field.type, inspect.StructType):
            arguments[field.name] = build(field.type.cls, values, dotted)
        elif dotted in values:
            arguments[field.name] = values[dotted].value
    return shape(**arguments)
