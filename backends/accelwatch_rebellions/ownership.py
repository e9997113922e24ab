"""Which NPU a context is on, where `npu` counts within a group and says it of several."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.backend.kit.text.quantity import BYTES, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch_rebellions.document import Entry, Npu

_NODE = re.compile(r"/dev/rbln(\d{1,6})")
_MAX_FILES = 4096
# Memory of a context is printed with one decimal: 1.0 may be 0.95.
_ROUNDED = 0.95

_MEMORY: Units = MappingProxyType({**BYTES, "": 1.0})

# Numbers of the device nodes that a pid has open; empty where that is not to be seen.
OpenNodes = Callable[[int], frozenset[int]]


class Contexts(NamedTuple):
    """Those of one NPU."""

    entries: tuple[Entry, ...]
    # How many may be on it or on another one.
    undecided: int


def open_nodes(root: Path, pid: int) -> frozenset[int]:
    """Numbers of the `/dev/rblnN` that a process has open; empty where this user may not read."""
    numbers: set[int] = set()
    try:
        with os.scandir(root / "proc" / str(pid) / "fd") as files:
            for _, file in zip(range(_MAX_FILES), files, strict=False):
                match = _NODE.fullmatch(_target(file.path))
                if match is not None:
                    numbers.add(int(match[1]))
    except OSError:
        return frozenset()
    return frozenset(numbers)


def _target(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def contexts_of(
    npu: Npu, npus: Sequence[Npu], entries: Sequence[Entry], nodes: OpenNodes
) -> Contexts:
    """Those that can be on no other NPU, by memory or by the nodes that the process has open."""
    mine: list[Entry] = []
    undecided = 0
    for entry in entries:
        candidates = [other for other in npus if other.in_group == entry.in_group]
        if len(candidates) > 1:
            candidates = [other for other in candidates if _has_room(other, entry)] or candidates
        if len(candidates) > 1:
            opened = nodes(entry.pid)
            candidates = [other for other in candidates if other.number in opened] or candidates
        if npu in candidates:
            if len(candidates) == 1:
                mine.append(entry)
            else:
                undecided += 1
    return Contexts(tuple(mine), undecided)


def _has_room(npu: Npu, entry: Entry) -> bool:
    """Whether as much as the context holds is in use on the NPU, as far as both are known."""
    memory = npu.fields.get("memory")
    used = quantity(memory.get("used") if isinstance(memory, dict) else None, _MEMORY)
    allocated = quantity(entry.memory, _MEMORY)
    if isinstance(used, Absence) or isinstance(allocated, Absence):
        return True
    return _ROUNDED * allocated <= used
