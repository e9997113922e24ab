"""Which exporters wrote a scrape, from the families in it; never from the port."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.plans.identity import KeyLabels
from accelwatch.fleet.dialects.registry import DIALECTS

# Of families of one scrape that are worth to be known again; others may hold anything.
_MOST_NAMES = 1024

# Family names and the `label=value` pairs seen on each.
Families = Mapping[str, Collection[str]]


def families(keys: Iterable[Key]) -> dict[str, set[str]]:
    """The families of a scrape with their labels, as `recognise` wants them."""
    by_name: dict[str, set[str]] = {}
    # Most series of a device have the same labels.
    texts: dict[KeyLabels, list[str]] = {}
    for name, labels, values in keys:
        pairs = texts.get((labels, values))
        if pairs is None:
            pairs = [f"{label}={value}" for label, value in zip(labels, values, strict=True)]
            texts[labels, values] = pairs
        by_name.setdefault(name, set()).update(pairs)
    return by_name


def recognise(by_name: Families) -> tuple[Dialect, ...]:
    """The dialects that speak in a scrape, ours first; empty when none is known."""
    return tuple(
        dialect
        for dialect in named_by(tuple(by_name))
        if prefix_of(dialect, by_name) is not None or not by_name.keys().isdisjoint(dialect.alive)
    )


def named_by(names: tuple[str, ...]) -> tuple[Dialect, ...]:
    """The dialects that families of these names may be of."""
    return _named(names) if len(names) <= _MOST_NAMES else _named.__wrapped__(names)


# Target pages of one exporter release have the same family names, so a scrape is a dict lookup.
@lru_cache(maxsize=256)
def _named(names: tuple[str, ...]) -> tuple[Dialect, ...]:
    """Kept, for those of a fleet's nodes are mostly alike."""
    return tuple(
        dialect
        for dialect in DIALECTS
        if not set(dialect.alive).isdisjoint(names)
        or any(_match(dialect, name) is not None for name in names)
    )


def prefix_of(dialect: Dialect, by_name: Families) -> str | None:
    """What stands before the dialect's names (mostly nothing); None when it does not speak here."""
    for name, pairs in by_name.items():
        prefix = _match(dialect, name)
        if prefix is not None and _carries(dialect, pairs):
            return prefix
    return None


def _match(dialect: Dialect, name: str) -> str | None:
    for fingerprint in dialect.fingerprints:
        if name == fingerprint:
            return ""
        if fingerprint.endswith("*") and name.startswith(fingerprint[:-1]):
            return ""
        if dialect.any_prefix and name.endswith(f"_{fingerprint}"):
            return name[: -len(fingerprint)]
    return None


def _carries(dialect: Dialect, pairs: Collection[str]) -> bool:
    if not all(f"{label}={value}" in pairs for label, value in dialect.required.items()):
        return False
    return not dialect.shares_families or all(
        any(f"{label}={value}" in pairs for value in values)
        for label, values in dialect.where.items()
    )
