"""A hub on virtual time: rules, incidents, journal, messages, remedies; no server and no threads."""

import asyncio
import contextlib
import logging
import os
import random
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.journal import patient
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.journal.sqlite import file as journal_file
from accelwatch.alerting.incidents.journal.sqlite import folder as journal_folder
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, Outcome, Status
from accelwatch.base import slices
from accelwatch.base.clock import Clock
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.incident_page.approval_requests import HubApprovalRequests
from accelwatch.fleet.remedies.runner import Policy, RemedyRunner
from accelwatch.fleet.rules import evaluator
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.plugins import entry_points as plugins
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.settings import RemedySettings
from accelwatch.system.files.sqlite_files import open_database
from night.machines import AGENT_EVERY_S, Machines
from night.scheduler import NightAction

RULES = Path(__file__).with_name("rules.yaml")


class Writer:
    """Writes the journal at once, where the hub has a thread; who is killed writes nothing more."""

    def __init__(self, file: Journal) -> None:
        self._file = file
        self.killed = False

    @property
    def lease(self) -> Lease:
        return self._file.lease

    async def commit(self, batch: Batch) -> None:
        if self.killed:
            raise asyncio.CancelledError
        self._file.write([batch])

    async def check(self, batch: Batch) -> None:
        self._file.check()
        await self.commit(batch)

    async def close(self) -> None:
        self._file.close()


class Phone:
    """Who is on call: each message that arrives disturbs them."""

    edits = False
    pace_s = 0.0
    repeat_s = None

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.messages: list[tuple[float, Notice]] = []

    async def deliver(self, notice: Notice, _: str) -> Outcome:
        self.messages.append((self._clock.wall(), notice))
        return Outcome(status=Status.DELIVERED)

    async def close(self) -> None:
        """Nothing is held."""


class Hub:
    """One process of it; the next one goes on with the same journal."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        machines: Machines,
        settings: RemedySettings,
        *,
        policy: Policy,
        jitter: Callable[[], float],
    ) -> None:
        self.fleet = Fleet(clock, Thresholds(), None)
        machines.greet(self.fleet)
        self._machines = machines
        self._evaluator = FleetEvaluator(self.fleet)
        self._settings = settings
        self._policy = policy
        self._jitter = jitter
        self.rules = RuleRunner(
            self._evaluator,
            RuleSettings(files=(str(RULES),), interval_s=AGENT_EVERY_S / 2, budget_s=1.0),
            folder,
            self._on_incidents,
            alerts=Alerts(sinks=(SinkSettings(name="phone", type="phone"),)),
            # Every rule of the night acts.
            approval_requests=HubApprovalRequests(
                lambda: self.remedies, lambda: None, lambda: "", lambda _: True
            ),
        )
        self.remedies: RemedyRunner | None = None

    def _on_incidents(self, incidents: Sequence[Incident]) -> None:
        if self.remedies is not None:
            self.remedies.on_changes(incidents)

    async def start(self) -> None:
        self._machines.report(self.fleet)
        await self.rules.start()
        remedies = RemedyRunner(
            self.fleet,
            self._evaluator,
            self.rules,
            self._settings,
            policy=self._policy,
            jitter=self._jitter,
        )
        await remedies.start()
        self.remedies = remedies
        self.rules.health.remediation_problems = lambda: remedies.problems

    async def stop(self) -> None:
        assert self.remedies is not None
        await self.remedies.stop()
        await self.rules.stop()
        self.fleet.close()

    async def kill(self) -> None:
        """End everything that runs besides the caller, and write nothing."""
        writer = self.rules.incident_store.writer
        assert isinstance(writer, Writer)
        writer.killed = True
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)
        await writer.close()
        self.fleet.close()


class Errors(logging.Handler):
    """What a hub logs as an error goes to whoever looks on."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._complain = complain

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._complain(f"{record.getMessage()} {error or ''}".strip())


@contextlib.contextmanager
def surroundings(
    action: NightAction, phone: Phone, luck: random.Random, complain: Callable[[str], None]
) -> Iterator[None]:
    """Plug-ins, files and threads as a night has them."""
    load = plugins.load

    def loaded(group: str, name: str) -> Any:
        return {"fake": lambda _: action, "phone": lambda _: phone}.get(name) or load(group, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "load", loaded)
        patch.setattr(patient, "JournalWriter", Writer)
        # A hub that is killed lets go of the folder's lock only when its process ends.
        patch.setattr(journal_folder, "lock_file", lambda _: os.open(os.devnull, os.O_RDONLY))
        patch.setattr(journal_file, "open_database", _without_sync)
        patch.setattr(StopFile, "start", StopFile.check)
        _without_chance(patch, luck)
        errors = Errors(complain)
        logging.getLogger("accelwatch").addHandler(errors)
        try:
            yield
        finally:
            logging.getLogger("accelwatch").removeHandler(errors)


def _without_chance(patch: pytest.MonkeyPatch, luck: random.Random) -> None:
    """The same seed is the same night: the machine's own pace and chance have no part in it."""
    patch.setattr(slices, "monotonic", lambda: 0.0)
    patch.setattr(evaluator, "thread_time", lambda: 0.0)
    patch.setattr(secrets, "token_hex", lambda size: luck.randbytes(size).hex())


def _without_sync(path: Path, **how: Any) -> sqlite3.Connection:
    database = open_database(path, **how)
    # It is the process that is killed, never the machine.
    database.execute("PRAGMA synchronous=OFF")
    return database
