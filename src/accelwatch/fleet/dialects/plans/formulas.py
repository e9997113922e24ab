"""What a number of a scrape is worth in base units, and why one is none."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.table import INT64_BLANK, Combine, Dialect
from accelwatch.schema.reading import Number
from accelwatch.schema.values.plausible import SENTINELS


class Term(NamedTuple):
    """One sample of a source: where its number is, its scale, and what it may be, unscaled."""

    slot: int
    times: int
    per: int
    low: float
    high: float
    optional: bool


class Formula(NamedTuple):
    """One way to a value."""

    terms: tuple[Term, ...]
    combine: Combine
    states: Mapping[float, str | None]
    # Whether a sum needs all its terms; links that are not there are left out of others.
    strict: bool
    flag: bool
    equals: float | None
    unset: tuple[float, ...] = ()
    bits: int = 0
    unless: int = 0


_EMPTY = {number: Absence.ERROR for number in SENTINELS if number < INT64_BLANK}

_blanks: dict[str, Mapping[float, Absence]] = {}


def blanks_of(dialect: Dialect) -> Mapping[float, Absence]:
    """Numbers that stand for "no value": the dialect's own, and what empty registers become."""
    blanks = _blanks.get(dialect.name)
    if blanks is None:
        blanks = _blanks[dialect.name] = {**_EMPTY, **dialect.blanks}
    return blanks


# A value, the word of a state, or why there is none.
Outcome = Number | str | Absence


def evaluate(
    source: Formula,
    values: Sequence[Number],
    blanks: Mapping[float, Absence],
    rejected: Counter[str],
) -> Outcome:
    """The value of one source at one moment, in base units; terms of a sum have scales of their own."""
    if source.combine is Combine.ALONE:
        return _alone(source.terms, values)
    terms: list[Number] = []
    missing: Absence | None = None
    for slot, times, per, low, high, optional in source.terms:
        raw = values[slot]
        if low <= raw <= high and raw not in blanks:
            terms.append(scaled(raw, times, per) if source.strict else raw)
        elif not optional:
            missing = _why(raw, blanks, rejected)
            if source.strict:
                return missing
    if not terms:
        return missing or Absence.ERROR
    value = _combined(source.combine, terms)
    if source.strict:
        return value if value >= 0 else Absence.ERROR
    return _interpreted(source, value)


def _interpreted(source: Formula, value: Number) -> Outcome:
    """What a number in the exporter's own unit says."""
    if source.states:
        state = source.states.get(value, f"{value:.12g}")
        return Absence.UNSUPPORTED if state is None else state
    if source.flag:
        return int(value != 0 and value not in source.unset)
    if source.equals is not None:
        return int(value == source.equals)
    if source.bits:
        mask = int(value)
        return int(mask & source.bits != 0 and not mask & source.unless)
    return scaled(value, source.terms[0].times, source.terms[0].per)


def _alone(terms: Sequence[Term], values: Sequence[Number]) -> Outcome:
    """1 where what must be there is not 0 and nothing else explains it."""
    flags = [(values[term.slot], term.optional) for term in terms]
    if any(raw not in (0, 1) for raw, optional in flags if not optional):
        return Absence.ERROR
    explained = any(raw == 1 for raw, optional in flags if optional)
    return int(not explained and any(raw for raw, optional in flags if not optional))


def scaled(raw: Number, times: int, per: int) -> Number:
    """The number in base units; whole numbers stay whole where they can."""
    value = raw * times if times != 1 else raw
    return value / per if per != 1 else value


def _combined(combine: Combine, terms: list[Number]) -> Number:
    if combine is Combine.MEAN:
        return sum(terms) / len(terms)
    if combine is Combine.MAX:
        return max(terms)
    if combine is Combine.COUNT:
        return len(terms)
    return sum(terms) if combine is Combine.SUM else terms[0]


def _why(raw: Number, blanks: Mapping[float, Absence], rejected: Counter[str]) -> Absence:
    """Why a number is none, and count it."""
    if raw in blanks:
        rejected["blank"] += 1
        return blanks[raw]
    if not math.isfinite(raw):
        rejected["not_finite"] += 1
        return Absence.ERROR
    if raw >= INT64_BLANK:
        rejected["blank"] += 1
        return Absence.UNSUPPORTED
    rejected["implausible"] += 1
    return Absence.ERROR
