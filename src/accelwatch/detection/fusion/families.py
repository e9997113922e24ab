"""Families of signals: those that move together count once."""

from collections.abc import Mapping
from typing import NamedTuple


class Family(NamedTuple):
    """What follows from a family's nature."""

    name: str
    # What is wrong with it alone does little harm at once, or may be a transient of the work: it must
    # last longer before it wakes somebody.
    is_mild: bool = False
    # What it shows follows from how much a device does, and counts as one with others that do.
    of_work: bool = False
    # It is the host's: a device's evidence counts for its node, unless that is decisive.
    of_node: bool = False
    # What many nodes have in common when all of them suffer in it; empty where that is their job.
    shared: str = ""
    # It says more of who reads than of what is read: alone it is a watch at most.
    of_reader: bool = False
    # What to do with a node that suffers in it and of which nothing more is known.
    advice: str = "exclude"
    # Seconds within which nodes that suffer by one cause show it one after another.
    within_s: float = 300.0


FAMILIES: tuple[Family, ...] = (
    # One signal of 504 devices is beyond 8 for four minutes about once in two days, for ten minutes once
    # in a week (4.4, whose rates are of 63 rows).
    Family("power", is_mild=True, of_work=True),
    # Air and water need half an hour to heat, and each node has another margin above its peers.
    Family("thermal", is_mild=True, shared="cooling", within_s=1800.0),
    Family("clock"),
    Family("compute", is_mild=True, of_work=True),
    Family("memory", of_work=True),
    # The health of memory: corrected and uncorrected errors, rows that were given up.
    Family("ecc"),
    Family("nvlink"),
    Family("pcie"),
    Family("fabric", of_node=True, shared="fabric"),
    Family("storage", is_mild=True, of_node=True, shared="storage", advice="none"),
    Family("host", is_mild=True, of_node=True),
    Family(
        "scrape", is_mild=True, of_node=True, shared="monitoring", of_reader=True, advice="none"
    ),
    # Families that channels name and that have no signals: presence, logs, hangs.
    Family("other", advice="none"),
)
_OTHER = len(FAMILIES) - 1
_POSITIONS: Mapping[str, int] = {family.name: position for position, family in enumerate(FAMILIES)}


def position_of(name: str) -> int:
    """The index of a family in `FAMILIES`; that of `other` for an unknown name."""
    return _POSITIONS.get(name, _OTHER)


def family_of(name: str) -> Family:
    """The family of this name; `other` for a name which is none of them."""
    return FAMILIES[position_of(name)]


# What a node that is hot, or that waits, does less of: no more than what its group says of it.
_OF_WORK = frozenset(family.name for family in FAMILIES if family.of_work)
_FOLLOWS: Mapping[str, frozenset[str]] = {
    "cooling": _OF_WORK | {"clock"},
    "fabric": _OF_WORK,
    "storage": _OF_WORK,
}


def follows_from(shared: str) -> frozenset[str]:
    """Families in which nodes differ by what they share (`Family.shared`)."""
    return _FOLLOWS.get(shared, frozenset())
