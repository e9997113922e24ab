"""What hl-smi prints, as one document: cards by the names of its queries, and processes."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.schema.device import normal_pci_bus_id

_NO_VALUE = frozenset({"", "n/a", "[n/a]", "none", "unknown", "not supported"})


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator as listed."""

    # The vendor's index (AIP); the position in the list where the output has no index.
    number: int
    pci_bus_id: str | None = None
    # Text by name of hl-smi's query, with its unit where it has one.
    fields: Mapping[str, str] = {}

    def text(self, name: str) -> str | None:
        """A text of it; None where it is not given or says that there is none."""
        value = self.fields.get(name, "").strip()
        return None if value.lower() in _NO_VALUE else value


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One process on a card."""

    # Of the card.
    number: int
    pid: int
    command: str | None
    memory: str


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None = None
    cards: tuple[Card, ...] = ()
    # None: the output has no list of processes.
    entries: tuple[Entry, ...] | None = None
    # Numbers of the cards whose row in that list says that they have none.
    vacant: frozenset[int] = frozenset()


def card_of(fields: Mapping[str, str], at: int) -> Card:
    """A card from its fields; `at` is its position in the list."""
    index = fields.get("index", "")
    number = int(index) if index.isascii() and index.isdecimal() and len(index) < 6 else at
    card = Card(number=number, fields=fields)
    bus = card.text("bus_id")
    return card if bus is None else msgspec.structs.replace(card, pci_bus_id=normal_pci_bus_id(bus))


def unique(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Of cards with one number the first."""
    kept: dict[int, Card] = {}
    for card in cards:
        kept.setdefault(card.number, card)
    return tuple(kept.values())


def together(query: ToolOutput, table: ToolOutput) -> ToolOutput:
    """The answer to a query, with what only the table has: fields, cards and processes.

    A query with neither address nor index does not say whose line is which: the table stands.
    """
    if table.cards and not any(card.pci_bus_id or card.text("index") for card in query.cards):
        return table
    return ToolOutput(
        driver_version=query.driver_version or table.driver_version,
        cards=tuple(_joined(card, table.cards) for card in query.cards),
        entries=table.entries,
        vacant=table.vacant,
    )


def _joined(card: Card, others: Iterable[Card]) -> Card:
    """A card with what the same one has in another list, where it has nothing itself."""
    for other in others:
        same = (
            other.pci_bus_id == card.pci_bus_id
            if card.pci_bus_id
            else card.text("index") is not None and other.number == card.number
        )
        if same:
            present = {name: text for name, text in card.fields.items() if card.text(name)}
            fields = {**card.fields, **other.fields, **present}
            address = card.pci_bus_id or other.pci_bus_id
            return msgspec.structs.replace(card, pci_bus_id=address, fields=fields)
    return card
