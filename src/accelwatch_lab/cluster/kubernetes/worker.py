"""The lab's job on Kubernetes: a worker in each pod, and the first one counts while all of them run.

As with torchrun, the others stay when one goes: the counting restarts, from the newest checkpoint,
when the missing worker runs again in another pod.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_lab.cluster.slurm.step_counter import job_folder
from accelwatch_lab.cluster.starts import count_start

_BEAT_S = 0.1
# Ten beats, for a machine that is busy.
_STALE_S = 1.0


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that runs."""

    pod: str
    node: str
    # Unix seconds of its latest beat.
    time: float


class Members:
    """Those of one job, each a file that it rewrites."""

    def __init__(self, folder: Path, job: str) -> None:
        self.folder = job_folder(folder, job) / "members"

    def beat(self, index: int, member: Member) -> None:
        """Say that a worker runs. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"{index}.{member.pod}"
        new.write_bytes(msgspec.json.encode(member))
        new.replace(self._file(index))

    def present(self, count: int, now: float) -> list[Member] | None:
        """All of them in order; None while one is missing."""
        members: list[Member] = []
        for index in range(count):
            try:
                member = msgspec.json.decode(self._file(index).read_bytes(), type=Member)
            except (*DECODE_ERRORS, OSError):
                return None
            if now - member.time > _STALE_S:
                return None
            members.append(member)
        return members

    def _file(self, index: int) -> Path:
        return self.folder / f"{index}.json"


class Counting:
    """The counting process of the first worker."""

    def __init__(self, folder: Path, job: str) -> None:
        self._folder = folder
        self._job = job
        self._members: list[str] | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def follow(self, members: list[Member] | None) -> None:
        """Have it run with exactly these workers, and with none at all where one is missing."""
        pods = None if members is None else [member.pod for member in members]
        if pods != self._members:
            self._end()
            self._members = pods
            if members is not None:
                self._start(members)

    def _start(self, members: list[Member]) -> None:
        nodes = ",".join(member.node for member in members)
        argv = [sys.executable, "-m", "accelwatch_lab.cluster.slurm.step_counter"]
        argv += [str(self._folder), "--job", self._job, "--nodes", nodes]
        self._child = subprocess.Popen(
            [*argv, "--restart", str(count_start(self._folder, self._job))]
        )

    def _end(self) -> None:
        if self._child is not None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            self._child = None


def main() -> None:
    """Work until ended; what is not given is as the pod's variables say it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    environ = os.environ
    index, job = int(environ["JOB_COMPLETION_INDEX"]), environ["JOB_NAME"]
    members = Members(options.folder, job)
    counting = Counting(options.folder, job)
    while True:
        now = time.time()
        member = Member(pod=environ["POD_NAME"], node=environ["NODE_NAME"], time=now)
        members.beat(index, member)
        if index == 0:
            counting.follow(members.present(options.count, now))
        time.sleep(_BEAT_S)


if __name__ == "__main__":
    main()
