"""From a drained node, or one that does not answer, to a job that runs elsewhere, on a real Slurm.

`slurm_move.py [--moves N] [--fences N] [--defaults]`. A job of two nodes loses one: the time runs
from the drain to RUNNING on the good node and the spare. `--defaults` leaves Slurm's own pause between
two rounds of its scheduler (3 s) instead of 1 s. Steps go by the engine's own pursuits over a journal on
the disk. A fence begins when slurmd is stopped under a running
job; a command stands for the power switch and ends slurmd, slurmstepd and the job's processes, and the
job is restarted only after another command has said that they are gone. Every job must run in the end.
"""

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.pursuits.pursuit import Pursuit
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch_slurm import SlurmAction
from accelwatch_slurm.texts.job_text import job_of
from support.processes.terminated import end_children_when_terminated
from support.slurm.lab_cluster import WorkingSlurm, until, working_slurm

WRITER = "while :; do echo ${{SLURM_RESTART_COUNT:-0}} $$ $PPID >> {file}; sleep 0.1; done & wait"
GOALS_S = {"move": 2.0, "move with defaults, p95": 3.5, "fence": 15.0}


def intent(kind: IntentKind, incident: str, node: str, **more: object) -> Intent:
    """What is wanted, for a minute."""
    return Intent(
        kind=kind,
        mark=OwnerAnnotation(incident, 1),
        node=node,
        rule="benchmark",
        reason="benchmark",
        asked=time.time(),
        deadline=time.time() + 120.0,
        **more,  # type: ignore[arg-type]
    )


def site_of(slurm: WorkingSlurm, writer: JournalWriter, **options: object) -> Site:
    """The action, and what its pursuits share."""
    context = ActionContext(name="lab", options={"slurm_conf": str(slurm.conf), **options})
    clock = SystemClock()
    ledger = Ledger(writer.commit, clock, [])
    return Site("lab", SlurmAction(context), ledger, Lanes(), lambda _: "", clock)


async def wanted(site: Site, what: Intent) -> bool:
    """Whether it was achieved."""
    reports: list[Pursued] = []
    async with asyncio.timeout(60.0):
        await Pursuit(site, what, reports.append).run()
    return reports[-1].result is PursuitResult.ACHIEVED


def started(slurm: WorkingSlurm, *options: str, script: str = "sleep 600 & wait") -> JobKey:
    """A job that runs."""
    number = slurm.submit(*options, script=script)
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    job = job_of(slurm.job(number))
    assert job is not None
    return JobKey("lab", number, job.submitted)


async def move(slurm: WorkingSlurm, site: Site, number: int) -> float:
    """Seconds of one move; infinite for a job that was lost."""
    key = started(slurm, "-N2", "-w", "n1,n2")
    incident = f"move-{number}"
    # Slurm begins jobs at one moment of each second, and with it would every run.
    await asyncio.sleep(random.uniform(0.0, 1.0))
    start = time.monotonic()
    well = await wanted(site, intent(IntentKind.QUARANTINE, incident, "n1"))
    moving = intent(IntentKind.MOVE_JOB, incident, "n1", job=key, spare="n3")
    well = well and await wanted(site, moving)
    took = time.monotonic() - start
    # A launch that is revoked ends the job a moment after it was seen to run.
    await asyncio.sleep(0.5)
    job = job_of(slurm.job(key.id))
    kept = job is not None and job.slurm_state == "RUNNING" and job.nodes == ("n2", "n3")
    slurm.run("scancel", key.id)
    await wanted(site, intent(IntentKind.RESTORE_JOB, incident, "n1", job=key))
    await wanted(site, intent(IntentKind.RELEASE, incident, "n1"))
    slurm.clean()
    return took if well and kept else math.inf


async def fence(slurm: WorkingSlurm, writer: JournalWriter, folder: Path, number: int) -> float:
    """Seconds from a slurmd that hangs to the job on another node, its old copy proven dead."""
    checkpoint, pids = folder / f"checkpoint{number}", folder / "copy.pids"
    # What has ended and was not waited for by its parent runs nothing any more.
    running = f"ps -o stat= -p \"$(cat {pids})\" | grep -q '^[^Z]'"
    for name, script in (("cut", f"kill -9 $(cat {pids})"), ("is_off", f"! {running}")):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    site = site_of(
        slurm, writer, power_off=[str(folder / "cut")], power_state=[str(folder / "is_off")]
    )
    key = started(slurm, "-w", "n1", script=WRITER.format(file=checkpoint))
    until(lambda: checkpoint.exists() and checkpoint.read_text(), "the job writes")
    _, script, stepd = checkpoint.read_text().split()[:3]
    children = Path(f"/proc/{script}/task/{script}/children").read_text().split()
    pids.write_text(" ".join([str(slurm.pid("slurmd.n1")), stepd, script, *children]))
    incident = f"fence-{number}"
    with slurm.stopped("slurmd.n1"):
        start = time.monotonic()
        well = await wanted(site, intent(IntentKind.QUARANTINE, incident, "n1"))
        well = well and await wanted(site, intent(IntentKind.FENCE, incident, "n1", job=key))
        moving = intent(IntentKind.MOVE_JOB, incident, "n1", job=key, spare="n3")
        well = well and await wanted(site, moving)
        took = time.monotonic() - start
        slurm.start_node("n1")
    lines = [line.split() for line in checkpoint.read_text().splitlines()]
    counts = [int(line[0]) for line in lines]
    slurm.run("scancel", key.id)
    until(lambda: "NOT_RESPONDING" not in slurm.node("n1"), "slurmd is back")
    await wanted(site, intent(IntentKind.RELEASE, incident, "n1"))
    await site.action.close()
    slurm.clean()
    return took if well and counts == sorted(counts) else math.inf


def summary(seconds: list[float]) -> dict[str, float | int]:
    """What came of some moves, in seconds."""
    done = sorted(one for one in seconds if one < math.inf)
    if not done:
        return {"runs": len(seconds), "lost": len(seconds)}
    return {
        "runs": len(seconds),
        "lost": len(seconds) - len(done),
        "median_s": round(statistics.median(done), 2),
        "p95_s": round(done[math.ceil(0.95 * len(done)) - 1], 2),
        "max_s": round(done[-1], 2),
    }


async def measured(
    slurm: WorkingSlurm, folder: Path, moves: int, fences: int
) -> tuple[list[float], list[float]]:
    """Seconds of each move, and of each fence."""
    writer = JournalWriter(open_file(folder / FILE))
    site = site_of(slurm, writer)
    moved = [await move(slurm, site, number) for number in range(moves)]
    fenced = [await fence(slurm, writer, folder, number) for number in range(fences)]
    await site.action.close()
    await writer.close()
    return moved, fenced


def main() -> None:
    """Print one JSON document."""
    end_children_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--fences", type=int, default=3)
    parser.add_argument("--defaults", action="store_true")
    given = parser.parse_args()
    scheduler = "batch_sched_delay=3" if given.defaults else "batch_sched_delay=1"
    with tempfile.TemporaryDirectory(prefix="slurm") as name:
        folder = Path(name)
        with working_slurm(folder, scheduler) as slurm:
            moves, fences = asyncio.run(measured(slurm, folder, given.moves, given.fences))
            version = slurm.run("scontrol", "version")
    document = {
        "slurm": version,
        "scheduler": scheduler,
        "move": summary(moves),
        "fence": summary(fences),
        "goals_s": GOALS_S,
        "load": [round(one, 1) for one in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
