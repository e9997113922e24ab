"""The table of GPUs that nvidia-smi's relatives print for people. Pure.

A GPU spans as many lines as the heading has; cells go by their headings, so that a column which newer
releases have may be there or not.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from accelwatch.backend.kit.smi.blocks import Path, parse_integer, plain
from accelwatch.backend.kit.text.failed_cells import with_failed_cells

MAX_ROWS = 1024
_RULE = re.compile(r"[\s|]*[+=-][+=\-|\s]*")
_GAP = re.compile(r"\s{2,}")
# An index of two digits leaves one space before the name.
_NUMBERED = re.compile(r"^([\s|]*\d{1,4}) (?=[A-Za-z])")
_SLASH = re.compile(r"\s/\s?")
_BRACKETS = re.compile(r"([^()]+)\(([^()]+)\)")


def slashed(cell: str) -> Sequence[str]:
    """Both parts of `58W / 250W`; of `N/A / N/A` too, which has slashes of its own."""
    return _SLASH.split(cell)


def bracketed(cell: str) -> Sequence[str]:
    """Both parts of `2MiB(16384MiB)`: used and total, or as it is and as it could be."""
    match = _BRACKETS.fullmatch(cell)
    return () if match is None else (match[1].strip(), match[2].strip())


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a vendor's table, by heading in lower case: `-q` has the paths of their fields."""

    # The first two headings; the first is that of the index.
    first: tuple[str, str]
    # The heading of the PCI address.
    address: str
    # Heading to the path, `utilization/gpu`.
    cells: Mapping[str, str]
    # Heading of a cell with two values to the paths of both.
    pairs: Mapping[str, tuple[str, str]] = {}
    # Splits such a cell.
    split: Callable[[str], Sequence[str]] = slashed
    # The lines of headings of every release, where rows may be printed without.
    headings: tuple[str, ...] = ()

    def fields_of(self, record: Mapping[str, str]) -> Iterator[tuple[Path, object]]:
        """The fields in the cells of one GPU."""
        for heading, cell in record.items():
            if heading in self.cells:
                yield tuple(self.cells[heading].split("/")), cell
            elif heading in self.pairs and len(values := self.split(cell)) == 2:
                for path, value in zip(self.pairs[heading], values, strict=True):
                    yield tuple(path.split("/")), value


def rows(
    lines: Sequence[str], first: tuple[str, str], headings: Sequence[str] = ()
) -> tuple[bool, list[dict[str, str]]]:
    """Whether there is a table, and the cells of each GPU by heading in lower case.

    `first` are its first two headings, `headings` the lines that stand for a heading that is not there.
    """
    names = [_segments(line) for line in headings]
    blocks: list[list[list[str]]] = []
    has_headings, heading, framed = bool(names), False, False
    for line in (with_failed_cells(_NUMBERED.sub(r"\1  ", line)) for line in lines):
        cells = [cell.lower() for cell in _cells(line)]
        if tuple(cells[:2]) == first:
            names, has_headings, heading = [_segments(line)], True, True
            framed = _is_framed(line)
        elif _RULE.fullmatch(line):
            heading = False
        elif framed and not _is_framed(line):
            # Between lines of a frame, what has none is a warning.
            continue
        elif heading:
            names.append(_segments(line))
        elif has_headings and len(cells) > 1 and parse_integer(cells[0]) is not None:
            blocks.append([_segments(line)])
        elif blocks:
            blocks[-1].append(_segments(line))
    records = [dict(_named(names, block)) for block in blocks[:MAX_ROWS]]
    return has_headings and (bool(records) or not headings), records


def _named(names: list[list[str]], block: list[list[str]]) -> Iterator[tuple[str, str]]:
    """Cells by heading; those of a part of a line with another number of cells are nobody's."""
    for heads, segments in zip(names, block, strict=False):
        if len(heads) != len(segments):
            continue
        for head, segment in zip(heads, segments, strict=True):
            keys, cells = _cells(head), _cells(segment)
            if len(keys) == len(cells):
                yield from zip(map(plain, keys), cells, strict=True)


def _is_framed(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 1 and bare.startswith("|") and bare.endswith("|")


def _segments(line: str) -> list[str]:
    """What stands between rules; those at the edges of a framed table are none."""
    return line.strip()[1:-1].split("|") if _is_framed(line) else line.split("|")


def _cells(segment: str) -> list[str]:
    """What two or more spaces keep apart, in the first part of a line."""
    first = segment.strip(" |").split("|", 1)[0].strip()
    return _GAP.split(first) if first else []
