"""Pages that differ in numbers and label values only, read by one shape that all of them have.

The nodes of a fleet run the same exporter: their pages say the same of other devices. Lines are parsed
for the first of them; the others are cut at quotes and at the last words of lines, and compared in
between.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from accelwatch.exposition.form import Form
from accelwatch.exposition.line import Key

_MOST_FRAMES = 64
_MOST_SHAPES = 256
# Of all shapes together.
_MOST_SERIES = 1 << 16
# Label values of a page that is worth to be known again.
_MOST_TEXTS = 1 << 14

_FIRST, _LAST = itemgetter(0), itemgetter(2)

_Positions = tuple[int, ...]


class _Frame(NamedTuple):
    """What stands around label values and numbers, as it was parsed once."""

    # Name and labels of each, and between which label values of the page its own are.
    series: tuple[tuple[str, tuple[str, ...], int, int], ...]
    # The line of each.
    lines: tuple[int, ...]
    # Of the page that was parsed.
    form: Form


class Shape:
    """A frame, and which of its label values are the same text. Never changed once it is made."""

    __slots__ = ("form", "lines", "series")

    def __init__(
        self,
        series: tuple[tuple[str, tuple[str, ...], _Positions], ...],
        lines: _Positions,
        form: Form,
    ) -> None:
        # Name and labels of each, and where their values are among the texts of a page.
        self.series = series
        # The line of each, which ends with its number.
        self.lines = lines
        # Of some page with this shape.
        self.form = form

    def keys(self, texts: Sequence[str]) -> tuple[Key, ...]:
        """The keys of a page with these texts."""
        cached: dict[_Positions, tuple[str, ...]] = {}
        keys = []
        for name, labels, positions in self.series:
            values = cached.get(positions)
            if values is None:
                values = cached[positions] = tuple([texts[position] for position in positions])
            keys.append(Key(name, labels, values))
        return tuple(keys)


class Match(NamedTuple):
    """A page that has a known shape."""

    shape: Shape
    # Its label values, each once.
    texts: tuple[str, ...]
    # The numbers of its samples, in the order of the series.
    tokens: list[str]


class Shapes:
    """The shapes of pages that were read line by line; from any thread."""

    def __init__(self) -> None:
        # By the hash of what stands between.
        self._frames: dict[int, _Frame] = {}
        # By frame, kept beside so that its id stays its own; None for one that repeats a series.
        self._shapes: dict[tuple[int, _Positions], tuple[_Frame, Shape | None]] = {}
        # Of all of them together.
        self._series = 0

    def __len__(self) -> int:
        return len(self._shapes)

    def match(self, page: bytes) -> Match | None:
        """The page by a shape that is known; None where none is, or where lines have to be parsed."""
        parted = _parted(page)
        if parted is None:
            return None
        gaps, tokens, texts = parted
        frame = self._frames.get(hash(gaps))
        if frame is None:
            return None
        firsts: dict[str, int] = {}
        equal = tuple(map(firsts.setdefault, texts, range(len(texts))))
        _, shape = self._shapes.get((id(frame), equal)) or self._learnt(frame, equal)
        if shape is None:
            return None
        return Match(shape, tuple(firsts), [tokens[line] for line in shape.lines])

    def learn(self, page: bytes, keys: Sequence[Key], sampled: Sequence[int], form: Form) -> None:
        """Know pages like this, of which nothing was refused; `sampled` are the lines of its keys."""
        parted = _parted(page)
        if parted is None or hash(parted[0]) in self._frames:
            return
        gaps, _, texts = parted
        frame = _framed(page, keys, sampled, form, texts)
        if frame is not None:
            if len(self._frames) >= _MOST_FRAMES:
                self._frames = {}
            self._frames[hash(gaps)] = frame

    def _learnt(self, frame: _Frame, equal: _Positions) -> tuple[_Frame, Shape | None]:
        """The shape of a frame whose label values are equal to the first of each so."""
        self._series += len(frame.series)
        if len(self._shapes) >= _MOST_SHAPES or self._series > _MOST_SERIES:
            self._shapes, self._series = {}, len(frame.series)
        numbered = {first: position for position, first in enumerate(dict.fromkeys(equal))}
        interned: dict[_Positions, _Positions] = {}
        series = []
        for name, labels, start, end in frame.series:
            positions = tuple([numbered[first] for first in equal[start:end]])
            series.append((name, labels, interned.setdefault(positions, positions)))
        distinct = len(set(series)) == len(series)
        shape = Shape(tuple(series), frame.lines, frame.form) if distinct else None
        self._shapes[id(frame), equal] = frame, shape
        return frame, shape


def _parted(page: bytes) -> tuple[tuple[str, ...], list[str], list[str]] | None:
    """What stands between them, the last words of lines, and the label values.

    None for a page with escapes, or with a line that ends within a label value.
    """
    if b"\\" in page:
        return None
    pieces = page.decode("utf-8", "replace").split('"')
    outside = '"'.join(pieces[::2]).split("\n")
    if len(pieces) > _MOST_TEXTS or len(outside) != page.count(b"\n") + 1:
        return None
    rows = [line.rpartition(" ") for line in outside]
    gaps, tokens = list(map(_FIRST, rows)), list(map(_LAST, rows))
    # Only behind something a last word may be a number, and only one without quotes may be any other:
    # all that decides which line is what, and which label values are whose, is compared.
    compared = [at for at, gap in enumerate(gaps) if not gap or gap.isspace()]
    if '"' in "".join(tokens):
        compared += [at for at, token in enumerate(tokens) if '"' in token]
    for at in compared:
        gaps[at] = "".join(rows[at])
    return tuple(gaps), tokens, pieces[1::2]


def _framed(
    page: bytes, keys: Sequence[Key], sampled: Sequence[int], form: Form, texts: list[str]
) -> _Frame | None:
    """The frame of a page whose quotes are those of its labels; None for any other."""
    lines = page.decode("utf-8", "replace").split("\n")
    quoted = [0, *accumulate(line.count('"') // 2 for line in lines)]
    ordered: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
    series = []
    for key, line in zip(keys, sampled, strict=True):
        start, end = quoted[line], quoted[line + 1]
        # In whichever order labels stand they say the same: two orders could repeat a series unseen.
        alike = ordered.setdefault((key.name, frozenset(key.labels)), key.labels) == key.labels
        if not alike or texts[start:end] != list(key.values):
            return None
        series.append((key.name, key.labels, start, end))
    return _Frame(tuple(series), tuple(sampled), form)


# Of all targets of the process.
SHAPES = Shapes()
