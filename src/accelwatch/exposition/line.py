"""One sample line: name, labels, number. Tolerant of real exporters, linear in its length."""

import re
from typing import NamedTuple

from accelwatch.exposition.interning import same
from accelwatch.schema.reading import Number

# Longer digit strings become floats: no number of a million digits is ever made.
MAX_INT_DIGITS = 18


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
_PLAIN_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(
    r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(?:,|(?=}))'
)
_END = re.compile(r"[ \t]*}")
_ASSIGNMENT = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"')
_ESCAPE = re.compile(r'\\([\\"n])')
_NUMBER = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|infinity|nan)", re.A | re.I)


class Labels(NamedTuple):
    """The labels of a line as it writes them."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    # In whichever order they are written.
    pairs: frozenset[tuple[str, str]]


class LabelTexts:
    """Labels by the text that they were parsed from: the series of a device mostly have the same.

    A text is known from a line in which nothing but one blank and the number follow its closing brace,
    and is only looked for in such lines: there it says the same whatever the number is.
    """

    def __init__(self) -> None:
        self._labels: dict[str, Labels] = {}

    def learn(self, before: str, sample: Sample) -> Labels:
        """The labels of a sample; `before` is its line up to the last blank."""
        _, names, values = sample.key
        labels = Labels(names, values, frozenset(zip(names, values, strict=True)))
        if sample.plain and before.endswith("}"):
            self._labels[before.partition("{")[2]] = labels
        return labels

    def sample(self, before: str, token: str) -> tuple[str, Labels, Number] | None:
        """Name, labels and number of a line whose labels are known; None for any other line."""
        name, _, text = before.partition("{")
        labels = self._labels.get(text)
        if labels is None or not (_PLAIN_NAME.fullmatch(name) and _NUMBER.fullmatch(token)):
            return None
        return same(name), labels, number(token)


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
    return Sample(_key(name[1], labels), *_number_at(line, at))


def _key(name: str, labels: list[tuple[str, str]]) -> Key:
    names = tuple(same(label) for label, _ in labels)
    if len(set(names)) != len(names):
        raise LineRejectedError("syntax")
    return Key(same(name), names, tuple(same(_plain(value)) for _, value in labels))


def _number_at(line: str, at: int) -> tuple[Number, bool]:
    """The number after the series, and whether that is all: no timestamp, exemplar or odd blanks."""
    tokens = line[at:].split(None, 2)
    if not tokens or _NUMBER.fullmatch(tokens[0]) is None:
        raise LineRejectedError("value")
    if len(tokens) > 1 and not (tokens[1] == "#" or _NUMBER.fullmatch(tokens[1])):
        raise LineRejectedError("syntax")
    start = line.rfind(" ")
    alone = len(tokens) == 1 and line[start + 1 :] == tokens[0]
    return number(tokens[0]), alone and start >= at - 1


def _labels(line: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """The labels from `at` on, and where the closing brace ends."""
    labels = []
    start = at
    while label := _LABEL.match(line, at):
        labels.append((label[1], label[2]))
        at = label.end()
    if end := _END.match(line, at):
        return labels, end.end()
    return _unescaped_labels(line, start)


def _unescaped_labels(line: str, start: int) -> tuple[list[tuple[str, str]], int]:
    """The labels of an exporter that forgets to escape: only `",name="` and `"}` end a value.

    dcgm-exporter writes label values as they are, so that a quote in a pod label breaks a strict parser.
    """
    end = line.rfind("}")
    inner = line[start:end].rstrip(" \t,")
    if end < start or not inner.endswith('"'):
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
