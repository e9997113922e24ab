"""The commands of the present screen by name, and which of them a typed text means. Pure."""

from collections.abc import Callable, Iterable

import msgspec

# Entries that are listed; more cannot be looked through.
MOST = 200


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be done now."""

    # As it is looked for and shown.
    name: str
    # What it does, in a sentence.
    more: str = ""
    # The key that does the same.
    key: str = ""
    run: Callable[[], object]


def matching(entries: Iterable[Entry], text: str) -> list[Entry]:
    """Those that a text means, the likeliest first, else in their order; all for an empty text."""
    terms = text.lower().split()
    ranked = [(_rank(terms, entry), entry) for entry in entries]
    matched = [(rank, entry) for rank, entry in ranked if rank is not None]
    matched.sort(key=lambda pair: pair[0])
    return [entry for _, entry in matched[:MOST]]


def _rank(terms: list[str], entry: Entry) -> int | None:
    """How far the words are from the entry; None where one of them is not in it."""
    total = 0
    for term in terms:
        rank = _distance(term, entry)
        if rank is None:
            return None
        total += rank
    return total


def _distance(term: str, entry: Entry) -> int | None:
    name = entry.name.lower()
    if term == name:
        return 0
    if name.startswith(term):
        return 1
    if f" {term}" in name:
        return 2
    if term in name:
        return 3
    letters = iter(name)
    if all(letter in letters for letter in term):
        return 5
    return 6 if term in entry.more.lower() else None
