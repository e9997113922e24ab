"""What a YAML document is made of, without PyYAML: who reads no file does not load it."""

from typing import Any

import msgspec


class Scalar(msgspec.Struct):
    """One word or text."""

    tag: str
    value: str
    # Where it begins, as PyYAML says it.
    start_mark: Any = None


class Sequence(msgspec.Struct):
    """A list."""

    tag: str
    value: "list[Node]"
    start_mark: Any = None


class Mapping(msgspec.Struct):
    """Pairs of key and value, as they are written."""

    tag: str
    value: "list[tuple[Node, Node]]"
    start_mark: Any = None


Node = Scalar | Sequence | Mapping
