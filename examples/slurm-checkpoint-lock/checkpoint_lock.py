"""Checkpoints of a job of which an old copy may still run on a node that does not answer.

Each copy of the job has a number that grows: SLURM_RESTART_COUNT, or what your own launcher counts. It
writes into a folder of its own. A new copy renames the folders of older ones before it reads them: from
then on an old copy finds its folder no more, so that nothing it writes counts, and it ends. Renaming is
one step on every file system, NFS and Lustre too, and nobody waits for a lock that a hung node holds.
"""

import os
import re
from pathlib import Path

_FOLDER = re.compile(r"(copy|closed)-(\d+)")
_STEP = re.compile(r"step-(\d+)")


class TakenOver(Exception):  # noqa: N818 - says what has happened
    """A newer copy of the job has begun: end, and write nothing."""


class CheckpointLock:
    """The checkpoints of one job, for the copy with a number."""

    def __init__(self, folder: Path, copy: int) -> None:
        self._folder = folder
        self._copy = copy
        self._own = folder / f"copy-{copy}"

    def claim(self, begin_from: str = "") -> tuple[int, bytes] | None:
        """Shut out older copies; step and data of the newest checkpoint. Raises TakenOver.

        With the path of an earlier checkpoint: of the newest up to that one's step.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for path, state, copy in self._folders():
            if copy > self._copy:
                raise TakenOver(f"copy {copy} has begun, this is {self._copy}")
            if state == "copy" and copy < self._copy:
                path.rename(self._folder / f"closed-{copy}")
        named = _STEP.fullmatch(Path(begin_from).name)
        newest = self._newest(None if named is None else int(named[1]))
        self._own.mkdir(exist_ok=True)
        return newest

    def save(self, step: int, data: bytes) -> None:
        """Write the checkpoint of a step, whole or not at all. Raises TakenOver."""
        part = self._own / f".step-{step}.part"
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.rename(self._own / f"step-{step}")
        except FileNotFoundError:
            raise TakenOver(f"the folder of copy {self._copy} was closed") from None

    def _folders(self) -> list[tuple[Path, str, int]]:
        found = []
        for path in self._folder.iterdir():
            if match := _FOLDER.fullmatch(path.name):
                found.append((path, match[1], int(match[2])))
        return found

    def _newest(self, most: int | None) -> tuple[int, bytes] | None:
        """Of the youngest copy that has one: an older copy may have gone on beside it for a while."""
        for path, _, _ in sorted(self._folders(), key=lambda one: one[2], reverse=True):
            steps = [
                int(match[1]) for file in path.iterdir() if (match := _STEP.fullmatch(file.name))
            ]
            steps = [step for step in steps if most is None or step <= most]
            if steps:
                return max(steps), (path / f"step-{max(steps)}").read_bytes()
        return None
