"""Checkpoints in a folder: complete or not there, whenever the writer ends."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

KEPT = 3


def newest(folder: Path) -> Path | None:
    """The checkpoint with the highest step; None when there is none."""
    found = _by_step(folder)
    return found[max(found)] if found else None


def save(folder: Path, step: int, write: Callable[[IO[bytes]], object]) -> None:
    """Write a checkpoint, and remove all but the newest ones."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".step-{step}.{os.getpid()}"
    with unfinished.open("wb") as opened:
        write(opened)
        opened.flush()
        os.fsync(opened.fileno())
    unfinished.replace(folder / f"step-{step}")
    found = _by_step(folder)
    for old in sorted(found)[:-KEPT]:
        found[old].unlink(missing_ok=True)


def _by_step(folder: Path) -> dict[int, Path]:
    files = folder.glob("step-*")
    return {int(file.name[5:]): file for file in files if re.fullmatch(r"step-\d+", file.name)}
