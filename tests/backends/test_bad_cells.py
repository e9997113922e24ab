"""A cell of a vendor's table that cannot be read costs what it would have said, and no neighbour."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from accelwatch.backend.kit.text.failed_cells import with_failed_cells
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Number, Reading
from accelwatch_ascend import mapping as ascend
from accelwatch_ascend.document import Detail
from accelwatch_ascend.table import parse_table as ascend_table
from accelwatch_cambricon import mapping as cambricon
from accelwatch_cambricon.table import parse_table as cambricon_table
from accelwatch_gaudi import mapping as gaudi
from accelwatch_gaudi.document import Card
from accelwatch_gaudi.table import parse_table as gaudi_table
from accelwatch_hygon import mapping as hygon
from accelwatch_hygon.document import cards_of
from accelwatch_hygon.report import rows_of
from accelwatch_iluvatar.vendor import VENDOR as ILUVATAR
from accelwatch_mthreads.vendor import VENDOR as MTHREADS
from accelwatch_thead.vendor import VENDOR as THEAD
from support.machines.samples import FIXTURES

DEVICE = Device(id="d", vendor="v", backend="b", index=0, name="n", kind=DeviceKind.GPU)
Values = dict[int, Mapping[Series, Number]]
NUMBER = re.compile(r"(?<=[ (/])\d+(?:\.\d+)?(?: ?(?:W|C|%|[MG]i?B|MHz))?(?=[ )/(])")
BAD = ("ERR W", "ERR!", "Unknown Error", "N/A", "?? C")


def _of_gaudi(card: Card) -> Reading:
    out = Collected("d")
    gaudi.collect_card(out, card)
    return out.reading()


# How the devices of a table are listed, and each is read.
READERS: dict[str, tuple[Callable[[bytes], Iterable[Any]], Callable[[Any], Reading]]] = {
    "ascend/310p3-duo.txt": (
        lambda output: ascend_table(output).chips,
        lambda chip: ascend.read("d", chip, Detail()),
    ),
    "ascend/a3.txt": (
        lambda output: ascend_table(output).chips,
        lambda chip: ascend.read("d", chip, Detail()),
    ),
    "cambricon/mlu370x8-x2.txt": (
        lambda output: cambricon_table(output).cards,
        lambda card: cambricon.read("d", card),
    ),
    "gaudi/gaudi1-table/table.txt": (lambda output: gaudi_table(output).cards, _of_gaudi),
    "hygon/k100ai-x2/table.txt": (
        lambda output: cards_of({}, rows_of(output)),
        lambda card: hygon.collect("d", card).reading(),
    ),
    "iluvatar/mr-v100.txt": (
        lambda output: ILUVATAR.table.parse(output).gpus,
        lambda gpu: ILUVATAR.reading(DEVICE, gpu),
    ),
    "mthreads/s5000-x2.txt": (
        lambda output: MTHREADS.table.parse(output).gpus,
        lambda gpu: MTHREADS.reading(DEVICE, gpu),
    ),
    "thead/zw810e-x2.txt": (
        lambda output: THEAD.table.parse(output).gpus,
        lambda gpu: THEAD.reading(DEVICE, gpu),
    ),
}


def values(file: str, text: str) -> Values:
    listed, read = READERS[file]
    try:
        return {at: read(entry).values for at, entry in enumerate(listed(text.encode()))}
    except ReadError:
        return {}


def damaged(text: str, cell: re.Match[str], bad: str) -> str:
    """With a bad cell in place of a good one, as wide as a tool would print it."""
    after = text[cell.end() :]
    wider = len(bad) - len(cell[0])
    blanks = len(after) - len(after.lstrip(" "))
    cut = min(max(wider, 0), max(blanks - 1, 0))
    return text[: cell.start()] + bad + " " * max(-wider, 0) + after[cut:]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("file", READERS)
def test_a_bad_cell_costs_no_neighbour(file: str, bad: str) -> None:
    text = (FIXTURES / file).read_text()
    before = values(file, text)
    assert sum(map(len, before.values())) > 5
    tried = 0
    for cell in NUMBER.finditer(text):
        line = text[text.rfind("\n", 0, cell.start()) + 1 : cell.start()]
        if not any(character.isalnum() for character in line):
            continue  # the number of a device
        after = values(file, damaged(text, cell, bad))
        lost = {
            (device, series[0].partition("_")[0])
            for device, series_values in before.items()
            for series in series_values
            if after.get(device, {}).get(series) != series_values[series]
        }
        assert len(lost) <= 1, (cell[0], line, lost)
        tried += bool(lost)
    assert tried > 3


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| 0%  34C  ERR W / 250W |", ["0%", "34C", "ERR! / 250W"]),
        ("| 0%  34C  250W / ERR |", ["0%", "34C", "250W / ERR!"]),
        ("| 0% Unknown Error P0 |", ["0%", "ERR!", "P0"]),
        ("| [Unknown Error]  34C |", ["ERR!", "34C"]),
        ("| N/A W  34C |", ["N/A", "34C"]),
        ("| N/A / N/A  34C |", ["N/A / N/A", "34C"]),
        ("| ERR!(81920MiB)  34C |", ["ERR!(81920MiB)", "34C"]),
        ("| 0MiB(N/A)  34C |", ["0MiB(N/A)", "34C"]),
        ("| 0     /   MLU370  N/A |", ["0", "/", "MLU370", "N/A"]),
        ("| TERRA  Failed-Over |", ["TERRA", "Failed-Over"]),
    ],
)
def test_words_for_what_could_not_be_read(line: str, cells: list[str]) -> None:
    assert re.split(r"\s{2,}", with_failed_cells(line).strip(" |")) == cells
