"""One sample line: name, labels, number. Tolerant of real exporters, linear in its length."""

import re
from typing import NamedTuple

from accelwatch.exposition.interning import same
from accelwatch.schema.reading import Number

MAX_INT_DIGITS = 18
"""Longer digit strings become floats: no number of a million digits is ever made."""


class Key(NamedTuple):
    """What identifies a series: its name, and its labels in the order in which they were written."""

    name: str
    labels: tuple[str, ...]
    values: tuple[str, ...]

    def get(self, label: str) -> str:
        """Value of a label; empty when it is not there, as Prometheus treats the two alike."""
        return self.values[self.labels.index(label)] if label in self.labels else ""


class Sample(NamedTuple):
    """A parsed line. `plain` is true when nothing but one blank and the number follow the series."""

    key: Key
    value: Number
    plain: bool


class LineRejectedError(Exception):
    """A line that cannot be read; the argument is the reason as it is counted."""


_NAME = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*")
_LABEL = re.compile(
    r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(?:,|(?=}))'
)
_END = re.compile(r"[ \t]*}")
_ASSIGNMENT = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"')
_ESCAPE = re.compile(r'\\([\\"n])')
_NUMBER = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|infinity|nan)", re.A | re.I)


def number(text: str) -> Number:
    """The value of a sample; whole numbers stay integers. Raises ValueError."""
    digits = text.removeprefix("-")
    if len(digits) <= MAX_INT_DIGITS and digits.isdecimal():
        return int(text)
    return float(text)


def parse_line(line: str, max_labels: int) -> Sample:
    """A sample line that is neither blank nor a comment. Raises LineRejectedError."""
    name = _NAME.match(line)
    if name is None:
        raise LineRejectedError("syntax")
    at = name.end()
    labels: list[tuple[str, str]] = []
    if line.startswith("{", at):
        labels, at = _labels(line, at + 1)
    if len(labels) > max_labels:
        raise LineRejectedError("labels")
    return Sample(_key(name[1], labels), *_rest(line, at))


def _key(name: str, labels: list[tuple[str, str]]) -> Key:
    names = tuple(same(label) for label, _ in labels)
    if len(set(names)) != len(names):
        raise LineRejectedError("syntax")
    return Key(same(name), names, tuple(same(_plain(value)) for _, value in labels))


def _rest(line: str, at: int) -> tuple[Number, bool]:
    """The number after the series, and whether that is all: no timestamp, exemplar or odd blanks."""
    words = line[at:].split(None, 2)
    if not words or _NUMBER.fullmatch(words[0]) is None:
        raise LineRejectedError("value")
    if len(words) > 1 and not (words[1] == "#" or _NUMBER.fullmatch(words[1])):
        raise LineRejectedError("syntax")
    start = line.rfind(" ")
    return number(words[0]), line[start + 1 :] == words[0] and start >= at - 1


def _labels(line: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """The labels from `at` on, and where the closing brace ends."""
    labels = []
    begin = at
    while label := _LABEL.match(line, at):
        labels.append((label[1], label[2]))
        at = label.end()
    if end := _END.match(line, at):
        return labels, end.end()
    return _unescaped_labels(line, begin)


def _unescaped_labels(line: str, begin: int) -> tuple[list[tuple[str, str]], int]:
    """The labels of an exporter that forgets to escape: only `",name="` and `"}` end a value.

    dcgm-exporter writes label values as they are, so that a quote in a pod label breaks a strict parser.
    """
    end = line.rfind("}")
    inner = line[begin:end].rstrip(" \t,")
    if end < begin or not inner.endswith('"'):
        raise LineRejectedError("syntax")
    labels: list[tuple[str, list[str]]] = []
    for piece in inner[:-1].split('",'):
        if assignment := _ASSIGNMENT.match(piece):
            labels.append((assignment[1], [piece[assignment.end() :]]))
        elif labels:
            labels[-1][1].append(piece)
        else:
            raise LineRejectedError("syntax")
    return [(name, '",'.join(pieces)) for name, pieces in labels], end + 1


def _plain(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], value)
