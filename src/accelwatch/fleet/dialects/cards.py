"""What an exporter repeats on each chip of a card although it is the card's: counted once.

A sum over devices would have it twice. So the first chip of the card that answers has the number, the
others say that their own is not known, and all have it as the board's.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import UP, normal_pci_bus_id
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.values.card_wide import holder_note, shared_note


def card_of(facts: Mapping[str, str]) -> str:
    """The PCI function behind which a device is, an empty string where it is unknown."""
    address = facts.get("pci") or facts.get("behind") or ""
    return normal_pci_bus_id(address) if address else ""


def counted_once(
    views: Sequence[DeviceView], cards: Mapping[str, str], card_wide: Mapping[Series, Series]
) -> tuple[DeviceView, ...]:
    """The views, with the card's values on one chip; `cards` by id of a device, `card_wide` by the
    series that each chip repeats the one that is the board's."""
    chips: dict[str, list[int]] = {}
    for at, view in enumerate(views):
        if (card := cards.get(view.device.id)) and view.state in UP:
            chips.setdefault(card, []).append(at)
    changed = list(views)
    for together in chips.values():
        if len(together) > 1:
            for series, board in card_wide.items():
                _share(changed, together, series, board)
    return tuple(changed)


def _share(views: list[DeviceView], together: Sequence[int], series: Series, board: Series) -> None:
    number = _first(views[at].reading.values.get(series) for at in together)
    if number is None:
        return
    names = [views[at].device.name for at in together]
    for at in together:
        reading = views[at].reading
        values: dict[Series, Number] = {**reading.values, board: number}
        absent = dict(reading.absent)
        for key in (series, board):
            absent.pop(key, None)
        if at == together[0]:
            values[series] = number
            note = holder_note(series, names)
        else:
            values.pop(series, None)
            absent[series] = Absence.UNSUPPORTED
            note = shared_note(series, names[0])
        deduplicated = msgspec.structs.replace(
            reading, values=values, absent=absent, notes=(*reading.notes, note)
        )
        views[at] = msgspec.structs.replace(views[at], reading=deduplicated)


def _first(numbers: Iterable[Number | None]) -> Number | None:
    return next((number for number in numbers if number is not None), None)
