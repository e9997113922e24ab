"""A YAML file as nodes that know their line. Aliases and duplicate keys are mistakes here."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.system.files.file_rights import written_by_everybody
from accelwatch.system.located_yaml import tree
from accelwatch.system.located_yaml.complaint import Complaint

MAX_FILE_BYTES = 1 << 20
_MAX_DEPTH = 16
_TAG = "tag:yaml.org,2002:"
_STRING = f"{_TAG}str"

# What to do, by a part of the parser's words.
_HINTS = {
    "cannot start any token": "put the text in quotes, and indent with spaces",
    "mapping values are not allowed here": "put text that has a ': ' in it in quotes",
    "unexpected end of stream": "a quote that was opened above is not closed",
    "expected <block end>": "its indentation differs from its neighbours",
    "could not find expected ':'": "a key is followed by ': ' and its value",
    "found another document": "a file has one: take out this '---', or make two files of it",
    "expected '<document start>'": "take out a '...' above, and lines that begin with '%'",
    "special characters are not allowed": "take out control characters",
    "truncated data": "write it as UTF-8",
    "invalid start byte": "write it as UTF-8",
    "invalid continuation byte": "write it as UTF-8",
}

# Where something is in a document: keys and list positions from the top.
Location = tuple[str | int, ...]


class Mistake(msgspec.Struct, frozen=True):
    """What is wrong with one node."""

    line: int
    location: Location
    text: str


def read_file(path: Path) -> bytes:
    """The file's content.

    Raises ConfigError when it cannot be read, is far too large, or everybody may write to it.
    """
    try:
        with path.open("rb") as file:
            unsafe = written_by_everybody(path, os.fstat(file.fileno()))
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(f"{path}: cannot be read: {reason or error}") from error
    if unsafe:
        raise ConfigError(f"{path}: {unsafe}")
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_FILE_BYTES} bytes, no configuration file")
    return data


def compose(data: bytes, file: str) -> tree.Node | None:
    """The root node; None for an empty document. Raises ConfigError with file and line."""
    import yaml

    with contextlib.suppress(yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        # libyaml's loader, where there is one, is ten times as fast.
        return _composed(data, file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    # The slow loader's words for what is wrong are the same wherever we run.
    try:
        yaml.compose(data, Loader=yaml.SafeLoader)
        return _composed(data, file, yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ConfigError(_bad_yaml(file, error)) from error


def _composed(data: bytes, file: str, loader: Any) -> tree.Node | None:
    """What `yaml.compose` gives, in one pass that stops at what would be slow or loop.

    Raises ValueError for what is no single document; the slow loader has the better message.
    """
    import yaml

    tag_of = _tags()
    children: list[tree.Node] = []
    around: list[tuple[Any, list[tree.Node]]] = []
    events: Iterator[Any] = yaml.parse(data, Loader=loader)
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            tag = event.tag
            if tag is None or tag == "!":
                tag = tag_of(event.value, event.implicit)
            children.append(tree.Scalar(tag, event.value, event.start_mark))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            around.append((event, children))
            children = []
            if len(around) > _MAX_DEPTH:
                text = f"{file}:{line(event)}: nested deeper than {_MAX_DEPTH} levels"
                raise ConfigError(text)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            inner = children
            start_event, children = around.pop()
            listed = kind is yaml.SequenceEndEvent
            children.append(_collection(start_event, inner, listed=listed))
        elif kind is yaml.AliasEvent:
            raise ConfigError(f"{file}:{line(event)}: aliases are not accepted; write it out")
    if len(children) > 1:
        raise ValueError("more than one document")
    return children[0] if children else None


def _collection(start_event: Any, children: list[tree.Node], *, listed: bool) -> tree.Node:
    tag: str | None = start_event.tag if start_event.tag != "!" else None
    start: Any = start_event.start_mark
    if listed:
        return tree.Sequence(tag or f"{_TAG}seq", children, start)
    items = list(zip(children[::2], children[1::2], strict=True))
    return tree.Mapping(tag or f"{_TAG}map", items, start)


def _tags() -> Callable[[str, tuple[bool, bool]], str]:
    """What plain text is typed as; most of a file is the same few words again and again."""
    import yaml

    resolver: Any = yaml.resolver.Resolver()
    cached: dict[str, str] = {}

    def tag_of(text: str, implicit: tuple[bool, bool]) -> str:
        if not implicit[0]:
            return _STRING
        tag = cached.get(text)
        if tag is None:
            tag = cached[text] = str(resolver.resolve(yaml.ScalarNode, text, implicit))
        return tag

    return tag_of


def _bad_yaml(file: str, error: Exception) -> str:
    position = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = _problem(error)
    location = file if position is None else f"{file}:{position.line + 1}"
    hint = "; ".join(text for sign, text in _HINTS.items() if sign in problem)
    return f"{location}: bad YAML: {problem}" + (f"; {hint}" if hint else "")


def _problem(error: Exception) -> str:
    """The parser's words as a sentence; around what it was, where that began on a line above."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    if problem is None:
        return "cannot be parsed"
    context, opened_at = getattr(error, "context", None), getattr(error, "context_mark", None)
    if problem.startswith("but "):
        return f"{context}, {problem}"
    if opened_at is not None and opened_at.line != getattr(error, "problem_mark", opened_at).line:
        return f"{context} that begins on line {opened_at.line + 1}, {problem}"
    return str(problem)


def line(element: Any) -> int:
    """Line of a node or event, from 1."""
    return int(element.start_mark.line) + 1


def kind(node: tree.Node) -> str:
    """`str`, `int`, `float`, `bool`, `null`, `seq`, `map`, or an odd tag as it is."""
    return str(node.tag).removeprefix(_TAG)


def scalar(text: str, *, quoted: bool = False) -> tree.Scalar:
    """A node for text from a variable or flag; unquoted text is typed as YAML would."""
    tag = _TAG + "str"
    if not quoted:
        import yaml

        loader = yaml.SafeLoader("")
        try:
            tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        finally:
            loader.dispose()
    return tree.Scalar(tag=tag, value=text)


def pairs(
    node: tree.Mapping, location: Location, mistakes: list[Mistake]
) -> Iterator[tuple[tree.Scalar, tree.Node]]:
    """Key node and value node of a mapping, the first of each key; others become mistakes."""
    first: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, tree.Scalar):
            mistakes.append(Mistake(line(key), location, "a key must be a word"))
        elif key.value in first:
            text = f"given twice, first on line {first[key.value]}"
            mistakes.append(Mistake(line(key), (*location, str(key.value)), text))
        else:
            first[key.value] = line(key)
            yield key, value


def joined(prefix: str, key: str) -> str:
    """A dotted key."""
    return f"{prefix}.{key}" if prefix else key


def dotted(location: Location) -> str:
    """`faults[2].node`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def complaints_of(mistakes: Iterable[Mistake], file: str, key: str = "") -> list[Complaint]:
    """The mistakes of a file, in what stands under a key, as complaints."""
    return [
        Complaint(
            f"{file}:{mistake.line}",
            dotted((key, *mistake.location) if key else mistake.location),
            mistake.text,
        )
        for mistake in mistakes
    ]


class PlainReader:
    """Turns nodes into plain data; keeps the line of each value and every mistake on the way."""

    def __init__(self) -> None:
        self.lines: dict[Location, int] = {}
        self.mistakes: list[Mistake] = []
        # PyYAML's loader, once there is more than text.
        self._scalars: Any = None

    def read(self, node: tree.Node, location: Location = ()) -> Any:
        """The node's data; what is wrong is left out and listed in `mistakes`."""
        self.lines.setdefault(location, line(node))
        if isinstance(node, tree.Mapping):
            return self._mapping(node, location)
        if isinstance(node, tree.Sequence):
            return [self.read(item, (*location, at)) for at, item in enumerate(node.value)]
        return self._scalar(node, location)

    def _mapping(self, node: tree.Mapping, location: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value in pairs(node, location, self.mistakes):
            key = str(key_node.value)
            self.lines[*location, key] = line(key_node)
            data[key] = self.read(value, (*location, key))
        return data

    def _scalar(self, node: tree.Node, location: Location) -> Any:
        if node.tag == _STRING:
            return node.value
        import yaml

        if self._scalars is None:
            self._scalars = yaml.SafeLoader("")
        try:
            return self._scalars.construct_object(yaml.ScalarNode(node.tag, node.value))
        except (yaml.YAMLError, ValueError):
            shown = str(node.value)[:60]
            self.mistakes.append(Mistake(line(node), location, f"{shown!r} cannot be read"))
            return None
        finally:
            self._scalars.constructed_objects.clear()  # it would keep every node of the file
