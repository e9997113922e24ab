"""Which exporters wrote a scrape, from the families in it; never from the port."""

from collections.abc import Collection, Iterable, Mapping

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.known import DIALECTS
from accelwatch.fleet.dialects.table import Dialect

Families = Mapping[str, Collection[str]]
"""Family names and the `label=value` pairs seen on each."""


def families(keys: Iterable[Key]) -> dict[str, set[str]]:
    """The families of a scrape with their labels, as `recognise` wants them."""
    by_name: dict[str, set[str]] = {}
    for key in keys:
        pairs = by_name.setdefault(key.name, set())
        for label, value in zip(key.labels, key.values, strict=True):
            pairs.add(f"{label}={value}")
    return by_name


def recognise(by_name: Families) -> tuple[Dialect, ...]:
    """The dialects that speak in a scrape, ours first; empty when none is known."""
    return tuple(
        dialect
        for dialect in DIALECTS
        if prefix_of(dialect, by_name) is not None or not by_name.keys().isdisjoint(dialect.alive)
    )


def prefix_of(dialect: Dialect, by_name: Families) -> str | None:
    """What stands before the dialect's names (mostly nothing); None when it does not speak here."""
    for name, pairs in by_name.items():
        prefix = _match(dialect, name)
        if prefix is not None and _carries(dialect.required, pairs):
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


def _carries(required: Mapping[str, str], pairs: Collection[str]) -> bool:
    return all(f"{label}={value}" in pairs for label, value in required.items())
