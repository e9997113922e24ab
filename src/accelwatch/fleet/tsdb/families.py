"""Which of a store's families the dialects can read; found in their tables, so none is named here."""

from collections.abc import Collection, Iterable
from functools import cache

from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.dialects.recognise import prefix_of
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.metrics import Kind, MetricSource, Scope, Tier

_FOR_ALL = frozenset({"devices", "driver_info"})
_MINIMAL = frozenset({Tier.MINIMAL})
_DEFAULT = frozenset({Tier.MINIMAL, Tier.DEFAULT, Tier.WORKLOAD, Tier.OPT_IN})


def readable_families(existing: Iterable[str], profile: str) -> list[str]:
    """The families to query of those that exist, in a fixed order.

    Of an exporter none when no family of its fingerprint exists; ours by profile.
    """
    there = frozenset(existing)
    families = dict.fromkeys(sorted(ours(profile) & there))
    for dialect in DIALECTS:
        if dialect is OURS:
            continue
        prefix = _prefix(dialect, there)
        if prefix is not None:
            names = _names(dialect)
            families.update(dict.fromkeys(sorted(there & {prefix + name for name in names})))
    return list(families)


def _prefix(dialect: Dialect, there: Collection[str]) -> str | None:
    pairs = {f"{label}={value}" for label, value in dialect.required.items()}
    return prefix_of(dialect, dict.fromkeys(there, pairs))


# The catalogue is constant, so the result is never invalid.
@cache
def ours(profile: str) -> frozenset[str]:
    """Our own families that say something about devices or hosts."""
    tiers = _MINIMAL if profile == "minimal" else _DEFAULT
    return frozenset(
        row.family
        for row in catalogue()
        if row.kind is not Kind.HISTOGRAM
        and (row.key in _FOR_ALL or row.tier in tiers)
        and (row.scope is Scope.DEVICE or row.key in _FOR_ALL or row.source is MetricSource.READ)
    )


def _names(dialect: Dialect) -> frozenset[str]:
    names = {*(row.name for row in dialect.rows), *dialect.identity, *dialect.remarks}
    names |= {*dialect.facts, *dialect.lost}
    names |= {name for name in dialect.fingerprints if not name.endswith("*")}
    if dialect.processes is not None:
        names |= {*dialect.processes.families(), *dialect.processes.shown_by}
    if dialect.success:
        names.add(dialect.success)
    return frozenset(names)


# The dialects are constants; called for each target of a store.
@cache
def _fingerprints() -> tuple[str, ...]:
    return tuple(fingerprint for dialect in DIALECTS for fingerprint in dialect.fingerprints)


def age_family_of(names: Collection[str]) -> str:
    """The family by which a target's samples are aged: a fingerprint, which each device has."""
    for fingerprint in _fingerprints():
        if fingerprint in names:
            return fingerprint
        if fingerprint.endswith("*"):
            fitting = sorted(name for name in names if name.startswith(fingerprint[:-1]))
            if fitting:
                return fitting[0]
    return min(names)
