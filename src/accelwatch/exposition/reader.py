"""The scrapes of one target, read within bounds; a bad line costs one line, never the scrape.

What a line says before its number hardly ever changes, so labels are parsed once and recognised by a
hash from then on: by one of all that stands around the numbers, else by that of the line. A first page
like that of another target is not parsed at all (`alike`). TYPE, HELP and timestamps are not used:
exporters type rates as counters and counters as gauges, and the tables of `fleet/dialects` know better.
"""

from array import array
from collections import Counter

import msgspec

from accelwatch.exposition.alike import SHAPES, Match, Shape
from accelwatch.exposition.form import Form
from accelwatch.exposition.line import (
    Key,
    Labels,
    LabelTexts,
    LineRejectedError,
    number,
    parse_line,
)
from accelwatch.exposition.numbers import is_number, numbers_of
from accelwatch.schema.reading import Number


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one scrape; what lies beyond is left out and counted, the rest is read."""

    body_bytes: int = 10 << 20
    line_bytes: int = 64 << 10
    labels: int = 64
    samples: int = 50_000


class PageSeries:
    """Which series a page has: their keys, or a shape and texts to make these of on demand."""

    __slots__ = ("_keys", "shape", "texts")

    def __init__(self, keys: tuple[Key, ...] | None, match: Match | None = None) -> None:
        """Either of them."""
        self._keys = keys
        self.shape: Shape | None = None if match is None else match.shape
        self.texts = () if match is None else match.texts

    @property
    def keys(self) -> tuple[Key, ...]:
        """One each, in the order of the values."""
        if self._keys is None:
            assert self.shape is not None
            self._keys = self.shape.keys(self.texts)
        return self._keys


class Scrape(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one body: `values[i]` belongs to `keys[i]`; NaN and infinities are kept.

    `series` is the very same object as the scrape before when the same series came, in any order, so
    a caller may keep what it derives from them for as long.
    """

    series: PageSeries
    values: list[Number]
    # Lines left out by reason: syntax, value, duplicate, line_length, labels, samples, bytes.
    rejected: Counter[str]

    @property
    def keys(self) -> tuple[Key, ...]:
        """What each value belongs to."""
        return self.series.keys


class ExpositionReader:
    """Reads the scrapes of one target. Two targets need two readers."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        # None with limits of one's own: pages of other targets may have passed what they refuse.
        self._shapes = SHAPES if limits is None else None
        self._series = PageSeries(())
        self._rejected: Counter[str] = Counter()
        # Whether there are series, and their page was read line by line.
        self._by_lines = False
        # All that stood around the numbers; None when that does not describe the page.
        self._form: Form | None = None
        # Hash of each key's line up to its number.
        self._hashes: array[int] = array("q")
        # Position among the keys by hash; empty for as long as the lines keep their order.
        self._slots: dict[int, int] = {}

    def read(self, body: str | bytes) -> Scrape:
        """The samples of a body; never raises for what is in it."""
        content = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
        page, cut = _bounded(content, self._limits.body_bytes)
        if cut:
            return self._line_by_line(page, cut)
        tokens = None if self._form is None else self._form.tokens(page)
        values = None if tokens is None else numbers_of(tokens)
        if values is not None:
            return Scrape(series=self._series, values=values, rejected=self._rejected.copy())
        return self._by_shape(page) or self._line_by_line(page, 0)

    def _by_shape(self, page: bytes) -> Scrape | None:
        """A page like that of another target; None where its lines have to be parsed."""
        if self._by_lines:
            return None  # these series are known by their lines
        before = self._series
        match = self._match(page)
        values = None if match is None else numbers_of([token.encode() for token in match.tokens])
        if match is None or values is None:
            return None
        if before.shape is match.shape and before.texts == match.texts:
            self._form = match.shape.form.like(page)
        else:
            series = PageSeries(None, match)
            if before.shape is not None and set(before.keys) == set(series.keys):
                return None  # in another order
            self._series, self._form = series, None
        self._rejected = Counter()
        return Scrape(series=self._series, values=values, rejected=Counter())

    def _match(self, page: bytes) -> Match | None:
        shapes = self._shapes
        return None if shapes is None or not self._short(page) else shapes.match(page)

    def _short(self, page: bytes) -> bool:
        """Whether no line is refused for its length."""
        limit = self._limits.line_bytes
        return len(page) <= limit or max(map(len, page.split(b"\n"))) <= limit

    def _line_by_line(self, page: bytes, cut: int) -> Scrape:
        first = self._series.shape is None and not self._series.keys
        lines = page.decode("utf-8", "replace").split("\n")
        slots = self._slots or self._slots_by_order()
        scanned = _Pass(self._series.keys, slots, self._limits)
        for at, line in enumerate(lines):
            if (stripped := line.lstrip()) and stripped[0] != "#":
                scanned.add(at, line)
        if cut:
            scanned.rejected["bytes"] += cut
        plain = scanned.plain and not cut
        values = self._adopt(scanned, plain)
        self._rejected = scanned.rejected
        self._by_lines = bool(self._series.keys)
        self._form, self._hashes = None, array("q")
        if plain:
            keys = self._series.keys
            sampled = scanned.sampled(keys)
            self._form = Form(page, sampled)
            self._hashes.extend([hash(lines[at].rpartition(" ")[0]) for at in sampled])
            if first and self._shapes is not None and not self._rejected:
                self._shapes.learn(page, keys, sampled, self._form)
        return Scrape(series=self._series, values=values, rejected=scanned.rejected.copy())

    def _slots_by_order(self) -> dict[int, int]:
        return {line_hash: slot for slot, line_hash in enumerate(self._hashes)}

    def _adopt(self, scanned: "_Pass", plain: bool) -> list[Number]:
        """Keep the keys where the same series came, else replace them; values in their order."""
        existing = self._series.keys
        if len(scanned.values) == len(scanned.keys) == len(existing):
            self._slots = scanned.slots if len(scanned.slots) <= 2 * len(scanned.keys) else {}
        else:
            kept = list(scanned.values)
            renumbered = {slot: position for position, slot in enumerate(kept)}
            self._series = PageSeries(tuple([scanned.keys[slot] for slot in kept]))
            self._slots = {}
            if not plain:
                entries = scanned.slots.items()
                self._slots = {
                    line_hash: renumbered[at] for line_hash, at in entries if at in renumbered
                }
            scanned.renumber(renumbered)
        return [scanned.values[slot] for slot in range(len(self._series.keys))]


class _Pass:
    """One reading line by line: known beginnings by hash, the others parsed."""

    def __init__(self, keys: tuple[Key, ...], slots: dict[int, int], limits: Limits) -> None:
        self.keys = list(keys)
        self.slots = dict(slots)
        self.values: dict[int, Number] = {}
        self.rejected: Counter[str] = Counter()
        self.plain = True
        self._limits = limits
        self._lines: dict[int, int] = {}
        self._canonical: dict[tuple[str, frozenset[tuple[str, str]]], int] | None = None
        self._labels = LabelTexts()
        # Labels and values that many series of a target have in common, kept once.
        self._tuples: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, at: int, line: str) -> None:
        """Parse one sample line, or count why not."""
        if len(self.values) >= self._limits.samples:
            self.rejected["samples"] += 1
            self.plain = False
            return
        before, _, token = line.rpartition(" ")
        slot = self.slots.get(hash(before))
        if slot is None or not is_number(token):
            self._parse(at, line, before, token)
        else:
            self._store(slot, at, number(token))

    def _parse(self, at: int, line: str, before: str, token: str) -> None:
        short = len(line) <= self._limits.line_bytes
        if short and (cached := self._labels.sample(before, token)):
            name, labels, value = cached
            slot = self.slots[hash(before)] = self._slot(name, labels)
            self._store(slot, at, value)
            return
        try:
            if not short:
                raise LineRejectedError("line_length")
            sample = parse_line(line, self._limits.labels)
        except LineRejectedError as refused:
            reason = str(refused)
            self.rejected[reason] += 1
            self.plain = self.plain and reason != "value"
            return
        slot = self._slot(sample.key.name, self._labels.learn(before, sample))
        if sample.plain:
            self.slots[hash(before)] = slot
        self.plain = self.plain and sample.plain
        self._store(slot, at, sample.value)

    def _slot(self, name: str, labels: Labels) -> int:
        if self._canonical is None:
            self._canonical = {_canon(old): slot for slot, old in enumerate(self.keys)}
        slot = self._canonical.setdefault((name, labels.pairs), len(self.keys))
        if slot == len(self.keys):
            intern = self._tuples.setdefault
            names, values = labels.names, labels.values
            self.keys.append(Key(name, intern(names, names), intern(values, values)))
        return slot

    def _store(self, slot: int, at: int, value: Number) -> None:
        if slot in self.values:
            self.rejected["duplicate"] += 1
            return
        self.values[slot] = value
        self._lines[slot] = at

    def renumber(self, positions: dict[int, int]) -> None:
        """Follow the keys to their new positions."""
        self.values = {positions[slot]: value for slot, value in self.values.items()}
        self._lines = {positions[slot]: at for slot, at in self._lines.items()}

    def sampled(self, keys: tuple[Key, ...]) -> list[int]:
        """The line of each key."""
        return [self._lines[slot] for slot in range(len(keys))]


def _canon(key: Key) -> tuple[str, frozenset[tuple[str, str]]]:
    return key.name, frozenset(zip(key.labels, key.values, strict=True))


def _bounded(body: bytes, limit: int) -> tuple[bytes, int]:
    """The page within the limit, to a whole line, and how many lines were cut off."""
    if len(body) <= limit:
        return body, 0
    end = body.rfind(b"\n", 0, limit)
    return body[: max(end, 0)], body.count(b"\n", end + 1) + (not body.endswith(b"\n"))
