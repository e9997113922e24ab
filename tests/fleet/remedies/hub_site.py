"""A hub over one node whose scheduler a test holds in its hand."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.approval.approvals import Approvals
from accelwatch.fleet.incident_page.approval_requests import HubApprovalRequests
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.remediation.settings import ActionSettings, DataGuard, RemedySettings, SpareSettings
from remediation.fake_scheduler import FakeScheduler
from support.fleet.manual_fleet import THRESHOLDS
from support.fleet.two_nodes import view
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock
from support.processes.waiting import GUARD_S

POWER = ("power_watts",)
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 1m}
PROFILES
rules:
- id: low
  title: Too little power
  when: power_watts < 200
  severity: critical
  confidence: high
  mode: MODE
  for: FOR
  trust: any
  action:
    quarantine: {level: node, when: now}
    verify: [{passive: 1s}]
"""


class HubSite:
    """A fleet of one node that is `n1` to its scheduler, and everything that acts on it."""

    def __init__(
        self,
        folder: Path,
        *,
        mode: str = "auto",
        for_: str = "0s",
        profiles: str = "",
        spares: tuple[str, ...] = (),
    ) -> None:
        self.clock = IdleClock()
        self.folder = folder
        self.world = FakeScheduler(self.clock, ["n1", "n2"])
        file = folder / "rules.yaml"
        text = RULES.replace("MODE", mode).replace("PROFILES", profiles).replace("FOR", for_)
        file.write_text(text, encoding="utf-8")
        self.rule_settings = RuleSettings(files=(str(file),))
        self.settings = RemedySettings(
            ceiling="resume",
            actions=(ActionSettings(type="fake"),),
            nodes={"a": "n1"},
            data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
            stop_file=str(folder / "STOP"),
            spares=SpareSettings(nodes=spares),
        )
        self.alerts = Alerts()
        self.acts = mode != "observe"
        self.approvals: Approvals | None = None
        self.external_url = ""
        self.watts = 400.0
        # Whether the node says anything.
        self.agent = True
        self.model = "NVIDIA H100 80GB HBM3"

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[tuple[RuleRunner, RemedyRunner]]:
        fleet = Fleet(self.clock, THRESHOLDS, None)
        (target,) = targets_of(["a"], {"rack": "r1", "pool": "train"})
        fleet.set_targets([target])
        self.fleet = fleet
        source = fleet.source(target.key)
        assert source is not None
        source.dialect, source.host_name, source.boot_id = "accelwatch", "n1.example", "boot-1"

        async def feed() -> None:
            while True:
                device_view = view(
                    0,
                    {POWER: self.watts},
                    sample_time=self.clock.wall(),
                    device=machines.device(0, model=self.model),
                )
                if self.agent:
                    fleet.read(target.key, [device_view], self.clock.wall(), 1.0)
                await asyncio.sleep(0.2)

        evaluator = FleetEvaluator(fleet)
        acting: list[RemedyRunner] = []

        def receive(incidents: Sequence[Incident]) -> None:
            for one in acting:
                one.on_changes(incidents)

        approvals = HubApprovalRequests(
            lambda: next(iter(acting), None),
            lambda: self.approvals,
            lambda: self.external_url,
            lambda _: self.acts,
        )
        rules = RuleRunner(
            evaluator,
            self.rule_settings,
            self.folder,
            receive,
            alerts=self.alerts,
            approval_requests=approvals,
        )
        feeding = asyncio.create_task(feed())
        await asyncio.sleep(0)
        await rules.start()
        remedies = RemedyRunner(fleet, evaluator, rules, self.settings)
        await remedies.start()
        rules.health.stalled = lambda: remedies.stalled
        acting.append(remedies)
        try:
            yield rules, remedies
        finally:
            await remedies.stop()
            await rules.stop()
            feeding.cancel()
            fleet.close()

    def quarantined(self, node: str) -> bool:
        """Whether our mark is on a node."""
        return self.world.nodes[node].mark is not None


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD_S):
        while not true():
            await asyncio.sleep(0.05)
