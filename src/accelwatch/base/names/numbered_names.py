"""Names that differ by their number, in few cells: `0-2,4,6-7`. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.DOTALL)


def numbered(names: Sequence[str]) -> str:
    """The numbers of the names alone where there are several with one beginning; else whole names."""
    if len(names) < 2:
        return "".join(names)
    numbers: dict[str, list[int]] = {}
    bare = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            bare.append(name)
        else:
            numbers.setdefault(match[1], []).append(int(match[2]))
    if len(numbers) == 1 and not bare:
        return _ranges(*numbers.values())
    return ",".join(
        [*bare, *(f"{start}{_ranges(suffixes)}" for start, suffixes in numbers.items())]
    )


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers next to each other as the first and the last."""
    ordered = sorted(set(numbers))
    starts = [ordered[0], *(after for before, after in pairwise(ordered) if after > before + 1)]
    ends = [*(before for before, after in pairwise(ordered) if after > before + 1), ordered[-1]]
    return ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, ends, strict=True))
