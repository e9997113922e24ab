"""From a fault to a session that runs elsewhere, on a real Backend.AI, beside a person's script.

`session_moves.py [--moves N] [--drills N]`; needs what `make backendai` builds, and
ACCELWATCH_BACKENDAI_VERSION names a release. A session over two agents loses one. The time runs from the
quarantine of the agent until the session that was created in place of the old one is RUNNING with the
spare; steps go by the engine's own pursuits over a journal on the disk. Between them, in turn, a
person's script does the same by the same API: make unschedulable, end, wait, draw the spare, create,
wait, with a look every half second. After each move exactly one session of the job may run, and one have
been created.
"""

import argparse
import asyncio
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

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
from accelwatch_backendai import BackendAiAction
from accelwatch_lab.cluster.backendai import requests
from accelwatch_lab.cluster.backendai.api import Api, ApiRefusalError, Object
from accelwatch_lab.cluster.backendai.requests import GROUP, SPARES
from real_servers import AGENTS, JOB_AGENTS, SPARE, WAIT_S, Cluster, cluster

# A person's script looks that often.
LOOK_S = 0.5
GOALS = {"moved beside a person's script_s": "+3", "moves": "20, none lost, none double"}


class Mover:
    """Moves by the engine's own pursuits."""

    def __init__(self, cluster: Cluster, writer: JournalWriter) -> None:
        self._action = BackendAiAction(ActionContext(name="lab", options=cluster.options))
        clock = SystemClock()
        ledger = Ledger(writer.commit, clock, [])
        self._site = Site("lab", self._action, ledger, Lanes(), lambda _: "", clock)

    async def move(self, incident: str, session: str, bad: str) -> bool:
        """Whether all of it was achieved."""
        mark = OwnerAnnotation(incident, 1)
        self._action.set_quarantines({bad: mark})
        job = JobKey("lab", session, 0.0)
        more = {"job": job, "spare": SPARE, "bad_nodes": (bad,)}
        return (
            await self._pursue(IntentKind.QUARANTINE, mark, bad)
            and await self._pursue(IntentKind.DRAW_SPARE, mark, bad, **more)
            and await self._pursue(IntentKind.MOVE_JOB, mark, bad, **more)
        )

    async def _pursue(
        self, kind: IntentKind, mark: OwnerAnnotation, node: str, **more: object
    ) -> bool:
        now = time.time()
        intent = Intent(
            kind=kind,
            mark=mark,
            node=node,
            rule="benchmark",
            reason="benchmark",
            asked=now,
            deadline=now + WAIT_S,
            **more,  # type: ignore[arg-type]
        )
        results: list[Pursued] = []
        async with asyncio.timeout(WAIT_S):
            await Pursuit(self._site, intent, results.append).run()
        if results[-1].result is not PursuitResult.ACHIEVED:
            print(kind, results[-1], file=sys.stderr)
        return results[-1].result is PursuitResult.ACHIEVED

    async def close(self) -> None:
        """Let go of the manager."""
        await self._action.close()


def drill(api: Api, name: str, session: str, bad: str) -> None:
    """What a person's script does."""
    requests.modify_agent(api, bad, schedulable=False)
    requests.end_session(api, session)
    _wait(lambda: requests.is_closed(requests.sessions(api, name)[-1]))
    requests.modify_agent(api, SPARE, scaling_group=GROUP)
    _begin(api, name)
    _wait(partial(_is_running, api, name))


def _begin(api: Api, name: str) -> str:
    return requests.create_session(api, name, "sleep 3600", nodes=2)


def _is_running(api: Api, name: str) -> bool:
    return requests.is_running(requests.sessions(api, name))


def _wait(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("not seen within the time")
        time.sleep(LOOK_S)


def _outcome(rows: list[Object], bad: str) -> str:
    """Empty for a job that runs once, and not where it may not."""
    running = [row for row in rows if row["status"] == "RUNNING"]
    if len(running) != 1 or not requests.is_running(rows):
        return "lost" if not running else "double"
    if len(rows) != 2:
        return "double"
    return "on the bad agent" if bad in requests.nodes_of(rows[-1]) else ""


def _restore(api: Api, name: str) -> None:
    """End the job, and have all agents where they were."""
    for row in requests.sessions(api, name):
        if not requests.is_closed(row):
            requests.end_session(api, row["session_id"], forced=True)
    _wait(lambda: all(map(requests.is_closed, requests.sessions(api, name))))
    for agent in AGENTS:
        # An agent whose session has just ended is busy for a moment.
        _wait(partial(_is_restored, api, agent))


def _is_restored(api: Api, agent: str) -> bool:
    group = SPARES if agent == SPARE else GROUP
    try:
        requests.modify_agent(api, agent, schedulable=True, scaling_group=group)
    except ApiRefusalError:
        return False
    return True


async def _moves(cluster: Cluster, moves: int, drills: int) -> dict[str, object]:
    api = cluster.api
    writer = JournalWriter(open_file(cluster.folder / FILE))
    mover = Mover(cluster, writer)
    ours: list[float] = []
    theirs: list[float] = []
    wrong: list[str] = []
    for number in range(moves + drills):
        # In turn, as far as there are drills.
        by_hand = (number % 2 == 1 and len(theirs) < drills) or len(ours) + len(wrong) == moves
        name, bad = f"job-{number}", JOB_AGENTS[number // 2 % 2]
        session = await asyncio.to_thread(_begin, api, name)
        await asyncio.to_thread(_wait, partial(_is_running, api, name))
        start = time.monotonic()
        if by_hand:
            await asyncio.to_thread(drill, api, name, session, bad)
            theirs.append(time.monotonic() - start)
        else:
            well = await mover.move(f"move-{number}", session, bad)
            took = time.monotonic() - start
            problem = _outcome(requests.sessions(api, name), bad)
            if well and not problem:
                ours.append(took)
            else:
                wrong.append(problem or "not achieved")
        await asyncio.to_thread(_restore, api, name)
        print(
            name,
            "drill" if by_hand else "move",
            round(time.monotonic() - start, 1),
            file=sys.stderr,
        )
    await mover.close()
    await writer.close()
    return {"accelwatch": _summary(ours), "a person's script": _summary(theirs), "wrong": wrong}


def _summary(seconds: list[float]) -> dict[str, float | int]:
    """What came of some moves."""
    if not seconds:
        return {"runs": 0}
    done = sorted(seconds)
    return {
        "runs": len(done),
        "median_s": round(statistics.median(done), 1),
        "p95_s": round(done[math.ceil(0.95 * len(done)) - 1], 1),
        "max_s": round(done[-1], 1),
    }


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--drills", type=int, default=10)
    given = parser.parse_args()
    with cluster() as running:
        document = {
            "release": running.servers.version,
            **asyncio.run(_moves(running, given.moves, given.drills)),
            "goals": GOALS,
            "load": [round(each, 1) for each in os.getloadavg()],
            "cpus": os.cpu_count(),
        }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
