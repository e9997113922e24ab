"""What npu-smi prints, parsed: chips, processes, and the `key : value` texts of `-t`. Pure.

A chip goes by its NPU (the card) and its index on it; the number that a runtime knows it by, its logic
id, is a third one.
"""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.system.processes.complete_output import parsed

# NPU id and chip id, the address of `-i` and `-c`.
Key = tuple[int, int]
# What stands before and after a colon, the first in lower case.
Pairs = Mapping[str, str]
# The latter: why it is not known.
PairsOrAbsence = Pairs | Absence
MAX_CHIPS = 1024
NO_VALUE = frozenset({"", "-", "--", "na", "n/a", "none", "unknown"})
_PAIR = re.compile(r"\s*([^:]{1,80}?)\s*:\s*(.*?)\s*")
_GAP = re.compile(r"\s{2,}")


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """One chip as the table lists it."""

    npu: int
    chip: int
    # The logic id, by which runtimes name it.
    number: int
    # None also for a further chip behind one PCI function, as on a card with two 310P.
    pci_bus_id: str | None
    name: str
    # Of a further chip the PCI function.
    behind: str | None = None
    # Columns by heading in lower case, with the unit where the heading has one.
    fields: Pairs

    @property
    def key(self) -> Key:
        """Where it is for npu-smi."""
        return self.npu, self.chip

    @property
    def address(self) -> tuple[str, ...]:
        """Options of `-t` that name it; npu-smi of the 950 knows no chips and refuses `-c`."""
        named = ("-i", str(self.npu))
        return (*named, "-c", str(self.chip)) if "chip" in self.fields else named

    def text(self, heading: str) -> str | None:
        """A column; None when it is missing, empty or says that there is nothing."""
        return meaningful_text(self.fields.get(heading))


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one chip."""

    key: Key
    pid: int
    command: str | None
    # As printed, with the unit of the heading.
    memory: str


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one chip beyond the table."""

    ecc: PairsOrAbsence = Absence.NOT_COLLECTED
    # Of `-t usages`, `-t common` and `-t memory`.
    usages: PairsOrAbsence = Absence.NOT_COLLECTED
    # Of `-t hccs`.
    links: PairsOrAbsence = Absence.NOT_COLLECTED
    # Error codes of an unhealthy chip and what npu-smi says of them.
    errors: str | None = None


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that one round read."""

    driver_version: str | None = None
    chips: tuple[Chip, ...] = ()
    jobs: tuple[Job, ...] = ()
    # NPUs of which it is known which processes they run; None: the table has no processes.
    npus_reporting_jobs: frozenset[int] | None = None
    details: Mapping[Key, Detail] = {}
    # What `-t board` prints of those chips for which it was run.
    boards: Mapping[Key, Pairs] = {}


def meaningful_text(text: str | None) -> str | None:
    """A text that says something."""
    plain = (text or "").strip()
    return None if plain.lower() in NO_VALUE else plain


def number_of(text: str | None) -> int | None:
    """A whole number that is not negative."""
    plain = (text or "").strip()
    return int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 10 else None


def complete_lines(output: bytes) -> list[str]:
    """The lines that ended: of one that was cut nobody knows how it went on."""
    return output.decode("utf-8", "replace").split("\n")[:-1]


def parse_pairs(output: bytes) -> Pairs:
    """What `npu-smi info -t …` of one chip prints. Raises ReadError when it is something else."""
    pairs: dict[str, str] = {}
    for line in complete_lines(output):
        match = _PAIR.fullmatch(line)
        if match is not None:
            pairs.setdefault(" ".join(match[1].lower().split()), match[2])
    if not pairs:
        raise ReadError("npu-smi info -t printed no list of values", code="garbage")
    return pairs


# A complaint may be a pair as well: `Error: ...`.
IS_OF_CHIP = parsed(parse_pairs, lambda pairs: "npu id" in pairs)


def parse_mapping(output: bytes) -> dict[Key, int]:
    """Logic ids by chip, as `npu-smi info -m` lists them; empty where it does not."""
    headings: list[str] = []
    logic: dict[Key, int] = {}
    for line in complete_lines(output):
        cells = _GAP.split(line.strip())
        if cells[0].lower() == "npu id":
            headings = [cell.lower() for cell in cells]
        elif len(cells) == len(headings):
            row = dict(zip(headings, cells, strict=True))
            npu, chip, number = (
                number_of(row.get(name)) for name in ("npu id", "chip id", "chip logic id")
            )
            # Microcontrollers of a card are listed too, without a logic id.
            if npu is not None and chip is not None and number is not None:
                logic.setdefault((npu, chip), number)
    return logic


def numbered(document: ToolOutput, logic: Mapping[Key, int]) -> ToolOutput:
    """With the logic ids of the map; where it lacks one, of the table; else by the order in it."""
    by_map = [logic.get(chip.key) for chip in document.chips]
    by_table = [number_of(chip.text("device")) for chip in document.chips]
    numbers = next(filter(_all_different, (by_map, by_table)), range(len(document.chips)))
    chips = tuple(
        msgspec.structs.replace(chip, number=number)
        for chip, number in zip(document.chips, numbers, strict=True)
    )
    return msgspec.structs.replace(document, chips=chips)


def _all_different(numbers: list[int | None]) -> bool:
    return None not in numbers and len(set(numbers)) == len(numbers)
