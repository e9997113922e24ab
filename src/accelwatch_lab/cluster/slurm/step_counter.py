"""The lab's job: it counts steps, writes a checkpoint every few of them, and goes on from the newest.

It stands still while a node of its own is faulty, as a collective does when a peer is gone. Every line
of its log says who wrote it, so that two copies at a time would be seen.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.base.names.host_ranges import expand, listed

STEP_S = 0.1
# Steps.
CHECKPOINT_EVERY = 8


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What the job did."""

    # Unix seconds.
    time: float
    # `begun`, `step` or `checkpoint`.
    what: str
    step: int
    # How often it has been restarted.
    restart: int
    pid: int
    nodes: tuple[str, ...]


def job_folder(folder: Path, job: str) -> Path:
    """Where the checkpoint and the log of a job are."""
    return folder / "jobs" / job


def faulty_file(folder: Path, node: str) -> Path:
    """The file that makes every job on a node stand still while it is there."""
    return folder / "faulty" / node


def lines_of(folder: Path, job: str) -> list[Line]:
    """The whole lines of a job's log so far."""
    try:
        text = (job_folder(folder, job) / "steps.jsonl").read_bytes()
    except OSError:
        return []
    complete = text[: text.rfind(b"\n") + 1]
    return [msgspec.json.decode(line, type=Line) for line in complete.splitlines()]


class StepCounter:
    """Counts until it is ended."""

    def __init__(self, folder: Path, job: str, nodes: Sequence[str], restart: int) -> None:
        self._folder = folder
        self._own = job_folder(folder, job)
        self._nodes = tuple(nodes)
        self._restart = restart
        self._checkpoint = self._own / "checkpoint"
        self._own.mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        """Never returns."""
        step = self._restored()
        self._log_step("begun", step)
        while True:
            time.sleep(STEP_S)
            if any(faulty_file(self._folder, node).exists() for node in self._nodes):
                continue
            step += 1
            self._log_step("step", step)
            if step % CHECKPOINT_EVERY == 0:
                self._save(step)

    def _restored(self) -> int:
        try:
            return int(self._checkpoint.read_text())
        except (OSError, ValueError):
            return 0

    def _save(self, step: int) -> None:
        new = self._checkpoint.with_suffix(f".{os.getpid()}")
        new.write_text(str(step))
        new.replace(self._checkpoint)
        self._log_step("checkpoint", step)

    def _log_step(self, what: str, step: int) -> None:
        line = Line(
            time=time.time(),
            what=what,
            step=step,
            restart=self._restart,
            pid=os.getpid(),
            nodes=self._nodes,
        )
        with (self._own / "steps.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


def script_of(folder: Path) -> str:
    """The batch script that runs it."""
    argv = (sys.executable, "-m", "accelwatch_lab.cluster.slurm.step_counter", str(folder))
    return f"exec {shlex.join(argv)}"


def main() -> None:
    """Run; what is not given is as Slurm says it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--job", default=os.environ.get("SLURM_JOB_ID", ""))
    parser.add_argument("--restart", type=int, default=os.environ.get("SLURM_RESTART_COUNT", "0"))
    parser.add_argument("--nodes", default=os.environ.get("SLURM_JOB_NODELIST", ""))
    options = parser.parse_args()
    if not options.job:
        parser.error("no job: give --job, or run it under Slurm")
    nodes = [name for expression in listed(options.nodes) for name in expand(expression)]
    StepCounter(options.folder, options.job, nodes, options.restart).run()


if __name__ == "__main__":
    main()
