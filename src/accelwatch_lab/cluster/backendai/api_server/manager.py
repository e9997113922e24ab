"""All that one manager knows and does, without a socket."""

from pathlib import Path

from accelwatch.base.clock import Clock
from accelwatch_lab.cluster.backendai.api_server.accounts import Accounts
from accelwatch_lab.cluster.backendai.api_server.clock import ShiftedClock
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.pace import Pace
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST, Release, release_of
from accelwatch_lab.cluster.backendai.api_server.request_log import LoggedRequest
from accelwatch_lab.cluster.backendai.api_server.state.agents import Agent, Agents
from accelwatch_lab.cluster.backendai.api_server.state.lifecycle import Lifecycle
from accelwatch_lab.cluster.backendai.api_server.state.sessions import Sessions
from accelwatch_lab.cluster.served_api.fault_rules import FaultRules
from accelwatch_lab.cluster.served_api.request_log import RequestLog

# Groups of the lab's real servers, and their only image.
GROUPS = ("default", "spare", "quarantine")
IMAGE = "cr.backend.ai/stable/python:3.9-ubuntu20.04"
ARCHITECTURE = "x86_64"
# The fixtures' one project.
PROJECT = "default"
PROJECT_ID = "2de2b969-1d04-48a6-af16-0bc8adb3c831"
_FIRST_RPC_PORT = 6001


class Manager:
    """Its state is that of the thread which serves it; clock, pace, faults and log are anybody's."""

    def __init__(
        self, release: str = NEWEST, log: Path | None = None, clock: Clock | None = None
    ) -> None:
        self.release: Release = release_of(release)
        self.clock = clock or ShiftedClock()
        self.pace = Pace(retry_s=self.release.retry_s)
        self.accounts = Accounts(self.clock)
        self.faults = FaultRules[Fault]()
        self.log = RequestLog[LoggedRequest](log)
        self.groups = list(GROUPS)
        self.images = [IMAGE]
        self.agents = Agents()
        self.sessions = Sessions()
        self.lifecycle = Lifecycle(self.clock, self.release, self.pace, self.agents, self.sessions)

    def add_agents(self, *names: str, group: str = GROUPS[0], **slots: int) -> None:
        """They are there and answer; `slots` (`cuda=4`) differ from those of all others."""
        for name in names:
            number = len(self.agents.rows) + 1
            agent = Agent(
                id=name,
                group=group,
                addr=f"tcp://10.0.0.{number}:{_FIRST_RPC_PORT}",
                first_contact=self.clock.wall(),
            )
            if slots:
                devices = {
                    f"{slot}.device" if slot == "cuda" else slot: n for slot, n in slots.items()
                }
                agent.slots = {**agent.slots, **devices}
            self.agents.add(agent)

    def kill_agent(self, name: str) -> None:
        """Its machine is dead."""
        self.lifecycle.settle()
        self.agents.kill(name, self.clock.wall())

    def stop_agent(self, name: str) -> None:
        """It is ended in order."""
        self.lifecycle.settle()
        self.agents.stop(name, self.clock.wall())

    def start_agent(self, name: str) -> None:
        """It is there again."""
        self.lifecycle.settle()
        self.agents.start(name, self.clock.wall())
        self.lifecycle.agent_is_back(name)
