"""A hub beside the stand-in: the engine with its real decisions and the real action, and no clock."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.rules.document import JobPolicy, Mode, QuarantineLevel, When
from accelwatch.api_client.backendai import client
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.operations.operation import KIND, Operation, operation_of
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.context.outcome import Note
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import Budget, RemedySettings, SpareSettings
from accelwatch_backendai import BackendAiAction
from accelwatch_lab.cluster.backendai.access import Account, keys_of, secret_file, write_keys
from accelwatch_lab.cluster.backendai.api_server.dispatch import Request, answered
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from accelwatch_lab.cluster.backendai.api_server.state.sessions import CLOSED, Session
from remediation.crash import KilledError
from remediation.memory_journal import MemoryJournal
from remediation.virtual_time import LoopClock, VirtualLoop
from support.backendai.in_process import InProcessSession
from support.backendai.served import signed, specification

NAME = "bai"
SPARE = "i-gpu4"
AGENTS = ("i-gpu1", "i-gpu2", "i-gpu3", SPARE)
GROUPS = {"default": {"spares": "spare"}}
POLICY = Policy(
    rule="nvidia.gpu.lost",
    mode=Mode.AUTO,
    level=QuarantineLevel.NODE,
    when=When.NOW,
    job=JobPolicy.REQUEUE,
    draw_spare=True,
    passive_s=20.0,
)
SETTINGS = RemedySettings(
    ceiling="resume",
    # An agent shows nothing by which its machine could be proven.
    nodes={name: name for name in AGENTS},
    budget=Budget(share=0.5, most=10, min_available=0.5),
    spares=SpareSettings(nodes=(SPARE,), alike=()),
)
REPORT_EVERY_S = 10.0
BAD = "i-gpu1"
# When a rule begins to fire: after the engine has looked around.
FAULT_S = 120.0
_URL = "http://127.0.0.1:8081"


class OtherClock:
    """The manager's, whose wall clock may be another than the hub's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead_s = 0.0

    def wall(self) -> float:
        return self._clock.wall() + self.ahead_s

    def monotonic(self) -> float:
        return self._clock.monotonic()


class BackendAiWatch:
    """Three agents, a spare, and whatever a test lets happen; a new engine has only the journal."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        release: str = NEWEST,
        **options: Any,
    ) -> None:
        self.loop = VirtualLoop()
        self.clock = LoopClock(self.loop)
        self.journal = MemoryJournal()
        self.manager_clock = OtherClock(self.clock)
        self.manager = Manager(release, clock=self.manager_clock)
        self.manager.add_agents(*AGENTS[:-1])
        self.manager.add_agents(SPARE, group="spare")
        # Clients reach it in this process.
        session = partial(InProcessSession, self.manager)
        monkeypatch.setattr(client, "Session", session)
        write_keys(folder, _URL)
        self.manager.accounts.read(folder)
        self.folder = folder
        self.options = options
        self.notes: list[Note] = []
        # Agents on which a rule fires, or did, since a Unix time.
        self.bad: dict[str, bool] = {}
        self._since: dict[str, float] = {}
        self._planned = 0
        self.engine = self.new()

    def new(self) -> Engine:
        """An engine that knows what the journal knows."""
        file = StopFile(self.folder / "STOP", self.clock)
        file.start = file.check  # type: ignore[method-assign]
        self.action = self._new_action()
        return Engine(
            partial(step, settings=SETTINGS),
            {NAME: self.action},
            self.journal.commit,
            self.clock,
            file,
            notify=self.notes.extend,
        )

    def _new_action(self) -> BackendAiAction:
        account = Account.SUPERADMIN
        server = {
            "url": _URL,
            "access_key": keys_of(self.folder, account).access_key,
            "secret_key_file": str(secret_file(self.folder, account)),
        }
        options = {"server": server, "groups": GROUPS, **self.options}
        return BackendAiAction(ActionContext(name=NAME, options=options, clock=self.clock))

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """What a superadmin is answered now; he is not refused."""
        keys = keys_of(self.folder, Account.SUPERADMIN)
        headers = {"Host": "127.0.0.1:8081", **signed(method, path, keys, self.clock.wall())}
        text = "" if body is None else msgspec.json.encode(body).decode()
        result = answered(self.manager, Request(method, path, headers, text))
        assert result.status < 300, result.document
        return result.document

    def create(self, name: str, nodes: int, **more: Any) -> str:
        """A batch session of some agents with all of their devices; its id."""
        values = {
            "type": "batch",
            "cluster_size": nodes,
            "cluster_mode": "multi-node",
            "startupCommand": "python3 train.py",
            "batch_timeout": "7d",
            **more,
        }
        body = specification(name, **values)
        return str(self.request("POST", "/session", body)["sessionId"])

    def change_agent(self, name: str, **props: Any) -> None:
        """What a person does by hand."""
        agent = self.manager.agents.rows[name]
        agent.schedulable = props.get("schedulable", agent.schedulable)
        agent.group = props.get("group", agent.group)

    def fault(self, name: str) -> None:
        """A rule begins to fire on an agent."""
        self.bad[name] = True
        self._since[name] = self.clock.wall()
        self.engine.submit_changes([self._case(name)])

    def heal(self, name: str) -> None:
        """It stops to."""
        self.bad[name] = False
        self.engine.submit_changes([self._case(name)])

    def _case(self, name: str) -> CaseChanged:
        since = self._since[name]
        case = Case(
            incident=f"i-{name}",
            policy=POLICY,
            since=since,
            evidence_at=since,
            open=self.bad[name],
            serial=f"board-{name}",
        )
        return CaseChanged(node=name, case=case)

    def report(self) -> None:
        """What the hub is told of all nodes."""
        now = self.clock.wall()
        running = [row for row in self.manager.agents.rows.values() if row.runs]
        coverage = FleetCoverage(
            time=now,
            monotonic=self.clock.monotonic(),
            late_s=0.0,
            agents=len(AGENTS),
            silent=len(AGENTS) - len(running),
        )
        statuses = [
            NodeStatus(
                node=row.id,
                time=now,
                healthy=not self.bad.get(row.id, False),
                generation="1",
                boot_id=f"{row.id}-1",
                host_name=row.addr.removeprefix("tcp://").partition(":")[0],
                serials={"0": f"board-{row.id}"},
                labels={"rack": "r1"},
                rack="r1",
            )
            for row in running
        ]
        self.engine.submit_observations([coverage, *statuses])
        self.engine.submit_changes([self._case(name) for name in sorted(self.bad)])

    async def _watch(self, seconds: float) -> None:
        await self.engine.start(self.journal.states())
        until = self.clock.wall() + seconds
        while self.clock.wall() < until:
            self.report()
            await asyncio.sleep(REPORT_EVERY_S)
        await self.engine.stop()

    def run(self, seconds: float) -> None:
        """Begin, hear for so long, and end."""
        self.wait(self._watch(seconds))

    def run_until_killed(self, seconds: float, when: str, is_time: Callable[[Batch], bool]) -> bool:
        """Run, and kill all of it `before` or `after` a commit of the journal; whether that came."""
        killed: list[Batch] = []

        def look(batch: Batch) -> None:
            if not killed and is_time(batch):
                killed.append(batch)
                # Whoever wrote it is not the only one who ends.
                self.loop.stop()
                raise KilledError

        setattr(self.journal, when, look)
        with contextlib.suppress(KilledError, RuntimeError):
            self.run(seconds)
        self.journal.before = self.journal.after = lambda _: None
        self.end_all()
        self.engine = self.new()
        return bool(killed)

    def wait(self, play: Coroutine[Any, Any, Any]) -> Any:
        """On the loop."""
        return self.loop.run_until_complete(play)

    def at(self, seconds: float, happen: Callable[[], Any]) -> None:
        """Let something happen after so many seconds."""
        self._planned += 1
        self.loop.call_later(seconds + 1e-6 * self._planned, happen)

    def end_all(self) -> None:
        """What still runs on the loop is gone, as after a kill."""
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.wait(asyncio.wait(left) if left else asyncio.sleep(0))

    def operations(self) -> list[Operation]:
        """As the journal has them."""
        return [operation_of(state) for state in self.journal.states() if state.kind == KIND]

    def sessions(self, name: str) -> list[Session]:
        """All that ever had a name, as the manager has them now."""
        self.manager.lifecycle.settle()
        return [row for row in self.manager.sessions.rows.values() if row.name == name]

    def live(self, name: str) -> list[Session]:
        """Those of them that have not ended."""
        return [session for session in self.sessions(name) if session.status not in CLOSED]

    def close(self) -> None:
        """Give the loop back."""
        self.loop.close()


def written(folder: Path) -> list[dict[str, object]]:
    """Rules of specifications for releases that do not show an environment: it has none."""
    file = folder / "specification.yaml"
    file.write_text("environ: {}\n")
    return [{"file": str(file)}]
