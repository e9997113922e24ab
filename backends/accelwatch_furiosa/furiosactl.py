"""What furiosactl prints besides `info` and `ps`: which cores are in use, and how busy. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import PERCENT, quantity
from accelwatch.base.absence import Absence
from accelwatch_furiosa.box_table import rows_of
from accelwatch_furiosa.document import UNLISTED, Card

_NAME = re.compile(r"npu(\d{1,4})")
_CORE = re.compile(r"(\d{1,3}) *\(([a-z][^()]{0,40})\)")
_NODE = re.compile(r"npu\d{1,4}(?:_mgmt|pe\d{1,3}(?:-\d{1,3})?)?")
_CORE_RANGE = re.compile(r"npu(\d{1,4})(?:pe(\d{1,3})(?:-(\d{1,3}))?)?")
_MAX_CORES = 64
_MAX_PID = 1 << 22
_SLACK = 1e-3
_COLUMNS = ("pid", "device", "npu(%)")
# Until a line of headings says otherwise.
_HEADINGS = ("datetime", "pid", "device", "npu(%)", "comp(%)", "i/o(%)", "command")


class Listed(NamedTuple):
    """A card in `list`."""

    # `available`, `unavailable`, or `occupied by npu1pe0-1`.
    cores: Mapping[int, str]
    # `/dev/npu1pe0` and the others.
    nodes: tuple[str, ...]


class Used(NamedTuple):
    """A process on one or more cores, in a line of `top`."""

    number: int
    # Empty for a whole card, whose cores the line does not count.
    cores: tuple[int, ...]
    pid: int
    # Of the time, a ratio.
    share: float


def listed_of(output: bytes) -> dict[int, Listed]:
    """Cards by number, from the table of `list`."""
    cards: dict[int, Listed] = {}
    for row in rows_of(output):
        match = _NAME.fullmatch(row.get("npu", ""))
        if match is not None:
            cores = {
                int(core): state.strip() for core, state in _CORE.findall(row.get("cores", ""))
            }
            files = (file.strip() for file in row.get("devfiles", "").split(","))
            here = tuple(f"/dev/{file}" for file in files if _NODE.fullmatch(file))
            cards.setdefault(int(match[1]), Listed(cores, here))
    return cards


def used_of(lines: Iterable[bytes]) -> list[Used]:
    """Who is on which cores, from lines of `top`: of each process there the last line counts."""
    headings = list(_HEADINGS)
    usages: dict[tuple[str, int], Used] = {}
    for line in lines:
        cells = line.decode("utf-8", "replace").split()
        lower = [cell.lower() for cell in cells]
        if all(column in lower for column in _COLUMNS):
            headings = lower
        elif (used := _used(dict(zip(headings, cells, strict=False)))) is not None:
            usages[used[0]] = used[1]
    return list(usages.values())


def with_load(card: Card, used: Sequence[Used]) -> Card:
    """The card with the share of each core; one without a listed user is not known."""
    shares: dict[int, float] = {}
    for usage in used:
        for core in usage.cores:
            shares[core] = shares.get(core, 0.0) + usage.share
    if not shares:
        return card
    if not card.status.get("pe_utilizations"):
        status = {**card.status, UNLISTED: True}
        card = msgspec.structs.replace(card, status=status)
    return card.with_cores(
        {
            "pe_core": core,
            "pe_utilization": f"{min(share, 1.0) * 100:.2f}%"
            if share <= 1.0 + _SLACK
            else "failed",
        }
        for core, share in shares.items()
    )


def _used(row: Mapping[str, str]) -> tuple[tuple[str, int], Used] | None:
    match, pid = _CORE_RANGE.fullmatch(row.get("device", "")), row.get("pid", "")
    share = quantity(row.get("npu(%)"), PERCENT)
    if match is None or not pid.isdecimal() or len(pid) > 7 or not 0 < int(pid) <= _MAX_PID:
        return None
    if isinstance(share, Absence) or not 0.0 <= share <= 1.0:
        return None
    first, last = match[2], match[3] or match[2]
    cores = () if first is None else tuple(range(int(first), int(last) + 1))[:_MAX_CORES]
    return (match[0], int(pid)), Used(int(match[1]), cores, int(pid), share)
