"""Plans of pages of one shape, worked out once: targets differ in who their devices are.

A plan is made of a page in which each text that only says who a device is, such as a uuid, is replaced
by a sign. What comes of that page can depend on none of these texts, so it holds for every page with
the same other texts; the texts replace the signs where a device is described. Other label
values are read when samples are mapped, so pages must have the same ones. A plan that could
depend on more is not shared.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from accelwatch.exposition import PageSeries
from accelwatch.exposition.alike import Shape
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.cards import card_of
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.dialects.page_plan import DialectPlan, PageOutline, PagePlan, outline_of
from accelwatch.fleet.dialects.plans.arrangement import Arrangement
from accelwatch.fleet.dialects.plans.host import HostLayout
from accelwatch.fleet.dialects.plans.identity import PLACEHOLDERS, address_of, device_of
from accelwatch.fleet.dialects.recognise import named_by
from accelwatch.schema.device import normal_uuid

# Before the index of a text; no exporter writes it.
_SIGN = "\0"
# Plans that are kept, and shapes that were checked.
_MOST = 64
# Of a page that is worth to be planned once for all.
_MOST_SERIES = 2048

# A text, or the index of one among those of a page.
_Fact = str | int


class _Devices(NamedTuple):
    """The devices of one exporter on all pages of a plan."""

    dialect: Dialect
    arrangement: Arrangement
    facts: tuple[Mapping[str, _Fact], ...]


class _SharedPlan(NamedTuple):
    devices: tuple[_Devices, ...]
    hosts: tuple[HostLayout, ...]
    rejected: Counter[str]


class _TextRoles(NamedTuple):
    """Which of the texts of a shape the plan reads."""

    # Who may speak there.
    dialects: tuple[Dialect, ...]
    # Indices of texts that only say who a device is, or that nothing reads.
    free: tuple[int, ...]
    # Indices of all other texts.
    others: tuple[int, ...]


# By dialect; those that we know are never dropped.
_needed: dict[int, frozenset[str]] = {}


def shared_plan(series: PageSeries) -> PagePlan | None:
    """The plan of a page like others; None for a page that needs a plan of its own."""
    shape, texts = series.shape, series.texts
    if shape is None or len(shape.series) > _MOST_SERIES:
        return None
    roles = _text_roles(shape)
    if roles is None or not _opaque(roles, texts):
        return None
    signed = list(texts)
    for position in roles.free:
        signed[position] = f"{_SIGN}{position}"
    plan = _planned(shape, tuple(signed))
    return None if plan is None else _filled(plan, texts)


# Thousands of targets have few distinct shapes. A plan depends on the shape alone, so the least
# used ones are dropped and none is ever invalid.
@lru_cache(maxsize=_MOST)
def _planned(shape: Shape, signed: tuple[str, ...]) -> _SharedPlan | None:
    return _shared(outline_of(shape.keys(signed)))


# As for plans: one computation per shape, not per target.
@lru_cache(maxsize=_MOST)
def _text_roles(shape: Shape) -> _TextRoles | None:
    """None for a shape whose pages are planned each by itself."""
    names = dict.fromkeys(name for name, _, _ in shape.series)
    dialects = named_by(tuple(names))
    if OURS in dialects:
        return None
    needed = frozenset[str]().union(*(needed_labels(dialect) for dialect in dialects))
    positions: set[int] = set()
    others: set[int] = set()
    for _, labels, some in shape.series:
        positions.update(some)
        others.update(
            position for label, position in zip(labels, some, strict=True) if label in needed
        )
    return _TextRoles(dialects, tuple(sorted(positions - others)), tuple(sorted(others)))


def needed_labels(dialect: Dialect) -> frozenset[str]:
    """Every label whose values may decide anything beyond who a device is, and more: all that its
    table names anywhere but as uuid or serial number."""
    labels = _needed.get(id(dialect))
    if labels is None:
        replace, used = msgspec.structs.replace, dialect.processes
        reduced = replace(
            dialect,
            labels=replace(dialect.labels, uuid=(), serial=()),
            processes=None if used is None else replace(used, uuid=()),
        )
        labels = _needed[id(dialect)] = frozenset(_texts_of(reduced))
    return labels


def _texts_of(value: object) -> Iterator[str]:
    """The texts in a table, and the names in braces in them."""
    if isinstance(value, str):
        yield value
        yield from re.findall(r"\{([^}]*)\}", value)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _texts_of(getattr(value, name))
    elif isinstance(value, Mapping):
        for entry in value.items():
            yield from _texts_of(entry)
    elif isinstance(value, tuple):
        for entry in value:
            yield from _texts_of(entry)


def _opaque(roles: _TextRoles, texts: Sequence[str]) -> bool:
    """Whether the free texts differ from each other and from all others in every respect."""
    free = [texts[position] for position in roles.free]
    others = [texts[position] for position in roles.others]
    normal = {normal_uuid(text) for text in free}
    return (
        len(normal) == len(free)
        and normal.isdisjoint(map(normal_uuid, others))
        and not any(_SIGN in text for text in others)
        and normal.isdisjoint(PLACEHOLDERS)
        and [text.strip() for text in free] == free
        and not any(_is_address(roles, text) for text in free)
    )


def _is_address(roles: _TextRoles, text: str) -> bool:
    """Whether a text is where a device is, to any who may speak there."""
    return any(address_of(dialect, text) is not None for dialect in roles.dialects)


def _shared(outline: PageOutline) -> _SharedPlan | None:
    """What of the outline of a page with signs is the same for all; None where it is only of one."""
    if outline.listing is not None:  # it says who holds which device
        return None
    devices = []
    for dialect, arrangement, device_index in outline.exporters:
        used = any(row.owners or row.processes for row in arrangement.rows)
        if used or device_index.doubts():
            return None
        facts = [
            {kind: _fact(text) for kind, text in identity.items()}
            for identity in device_index.facts
        ]
        devices.append(_Devices(dialect, arrangement, tuple(facts)))
    return _SharedPlan(tuple(devices), outline.hosts, outline.rejected)


def _fact(text: str) -> _Fact:
    return int(text.removeprefix(_SIGN)) if text.startswith(_SIGN) else text


def _filled(plan: _SharedPlan, texts: Sequence[str]) -> PagePlan:
    dialects = []
    for dialect, arrangement, facts in plan.devices:
        identities = [
            {
                kind: fact if isinstance(fact, str) else texts[fact]
                for kind, fact in identity.items()
            }
            for identity in facts
        ]
        devices = [
            device_of(dialect, number, identity) for number, identity in enumerate(identities)
        ]
        broken = [identity.get("broken", "") for identity in identities]
        cards = [card_of(identity) for identity in identities]
        dialects.append(DialectPlan(dialect, arrangement, devices, broken, {}, cards))
    return PagePlan(tuple(dialects), plan.hosts, plan.rejected)
