"""Host ranges as Slurm and pdsh write them: `n[001-063,070]:9400`, `r[1-2]n[01-36]`. Pure."""

import itertools
import re
from collections.abc import Iterable, Sequence

from accelwatch.base.errors import UsageError

MAX_HOSTS = 100_000
_MAX_TEXT = 4096
_RANGE = re.compile(r"\[([0-9][0-9,\-]*)\]")
_COMMA = re.compile(r",(?![^\[]*\])")
_NUMBERED = re.compile(r"(.*?)(\d{1,9})(\D*)", re.ASCII)
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str) -> list[str]:
    """Every address that the text stands for, in order; zeros in front are kept.

    Brackets that hold anything but numbers are left alone: `[::1]:9400` is an address.
    Raises UsageError.
    """
    if len(text) > _MAX_TEXT:
        raise UsageError(f"a host range has at most {_MAX_TEXT} characters")
    pieces = _RANGE.split(text)
    choices = [_numbers(piece, text) for piece in pieces[1::2]]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MAX_HOSTS:
        raise UsageError(f"{text!r} stands for {total} hosts; at most {MAX_HOSTS} are allowed")
    fixed = pieces[0::2]
    hosts = []
    for numbers in itertools.product(*choices):
        inserts = (*numbers, "")
        hosts.append("".join(segment + end for segment, end in zip(fixed, inserts, strict=True)))
    return hosts


def listed(text: str) -> list[str]:
    """The parts of `n[1-3,5],n7`, which are parted by the commas outside brackets; no empty ones."""
    return [entry.strip() for entry in _COMMA.split(text) if entry.strip()]


def _numbers(piece: str, text: str) -> list[str]:
    numbers: list[str] = []
    for span in piece.split(","):
        match = _SPAN.fullmatch(span)
        if match is None:
            raise UsageError(f"{text!r}: {span!r} is not a valid range; write [001-063] or [1,4-9]")
        first, last = match[1], match[2] or match[1]
        count = int(last) - int(first) + 1
        if count < 1:
            raise UsageError(f"{text!r}: {span!r} runs backwards")
        if len(numbers) + count > MAX_HOSTS:
            raise UsageError(f"{text!r} stands for more than {MAX_HOSTS} hosts")
        numbers += [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    return numbers


def collapse(hosts: Iterable[str]) -> str:
    """Names as one host range, sorted: `n[001-003,007],r7`; what `expand` makes of it is the same names.

    Only the last number of a name is folded, and only numbers of equal width, so zeros in front stay.
    """
    groups: dict[tuple[str, int, str], list[int]] = {}
    plain: list[str] = []
    for host in sorted(set(hosts)):
        match = _NUMBERED.fullmatch(host)
        if match is None:
            plain.append(host)
        else:
            groups.setdefault((match[1], len(match[2]), match[3]), []).append(int(match[2]))
    folded = [
        f"{head}[{_spans(numbers, width)}]{tail}"
        if len(numbers) > 1
        else f"{head}{numbers[0]:0{width}d}{tail}"
        for (head, width, tail), numbers in groups.items()
    ]
    return ",".join(sorted([*plain, *folded]))


def _spans(numbers: Sequence[int], width: int) -> str:
    """Sorted numbers as `001-003,007`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in spans
    )
