"""Which intents are pursued by which scheduler: those of a decision, and what a restart left open."""

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.step import RefusalKind
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.pursuits.pursuit import Pursuit, Report
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage

logger = logging.getLogger(__name__)

_ENCODER = msgspec.json.Encoder(order="deterministic")


class Pursuits:
    """The running pursuits: one an intent, started, cancelled, and ended together.

    `report` gets each end, and each step of unknown outcome.
    """

    def __init__(self, sites: Mapping[str, Site], clock: Clock, report: Report) -> None:
        """`sites` by the action's name, in the order in which they are tried."""
        self._sites = sites
        self._clock = clock
        self._report = report
        self._running: dict[bytes, tuple[Pursuit, asyncio.Task[None]]] = {}

    def start(self, intent: Intent, action: str = "") -> None:
        """Pursue an intent, by `action` where it can do it; one that is pursued looks again at once."""
        key = _ENCODER.encode(intent)
        if key in self._running:
            self._running[key][0].wake()
            return
        site = self._site(intent, action)
        if site is None:
            self._report(self._refused(intent))
            return
        pursuit = Pursuit(site, intent, self._report)
        task = asyncio.get_running_loop().create_task(pursuit.run(), name=f"pursuit {intent.kind}")
        self._running[key] = pursuit, task
        task.add_done_callback(lambda finished_task: self._on_finished(key, finished_task))

    def able(self, intent: Intent) -> list[str]:
        """The actions that can do it, by their names."""
        return [name for name, site in self._sites.items() if intent.kind in site.action.intents]

    def _site(self, intent: Intent, action: str) -> Site | None:
        able = self.able(intent)
        name = action if action in able else next(iter(able), "")
        return self._sites.get(name)

    def _refused(self, intent: Intent) -> Pursued:
        return Pursued(
            intent=intent,
            result=PursuitResult.REFUSED,
            time=self._clock.wall(),
            text=f"no action in remedy.actions can do it: {intent.kind}",
            refusal=RefusalKind.IMPOSSIBLE,
        )

    def _on_finished(self, key: bytes, task: "asyncio.Task[None]") -> None:
        pursuit, _ = self._running.pop(key)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a pursuit has ended by a mistake of ours", exc_info=error)
            # Nobody knows how far it came, and nobody shall wait for it.
            self._report(pursuit.lost(f"its pursuit has ended by a mistake of ours: {error!r}"))

    def cancel(self, intent: Intent) -> bool:
        """Begin nothing more for an intent; whether it was being pursued."""
        running = self._running.get(_ENCODER.encode(intent))
        if running is not None:
            running[0].cancel()
        return running is not None

    async def stop(self) -> None:
        """End all as they are; what is open is found again in the journal."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why some of them cannot go on, each once."""
        reported = (pursuit.problem for pursuit, _ in self._running.values())
        return tuple(dict.fromkeys(text for text in reported if text))

    @property
    def texts(self) -> dict[str, str]:
        """What is being done or waited for, by node."""
        return {pursuit.node: pursuit.text for pursuit, _ in self._running.values()}


class Dispatch:
    """For one event loop."""

    def __init__(
        self, sites: Mapping[str, Site], ledger: Ledger, clock: Clock, report: Report
    ) -> None:
        self.pursuits = Pursuits(sites, clock, report)
        self._ledger = ledger
        self._clock = clock
        # Intents of whose node no scheduler has been seen to have it yet.
        self._unplaced: list[Intent] = []

    def adopt(self, outcome: Outcome) -> None:
        """Start and cancel the intents of a decision, which is in the journal."""
        for intent in outcome.pursue:
            self._start(intent, outcome.state)
        for intent in outcome.cancel:
            self._unplaced = [candidate for candidate in self._unplaced if candidate != intent]
            self.pursuits.start(intent, self._action_of(intent, outcome.state))
            self.pursuits.cancel(intent)

    def retry_unplaced(self, state: RemedyState) -> None:
        """Start what waited for a scheduler, if one has shown the node by now."""
        unplaced, self._unplaced = self._unplaced, []
        for intent in unplaced:
            self._start(intent, state)

    def follow_open_operations(self, state: RemedyState) -> None:
        """After a restart: what is open is observed until it is known, desired or not."""
        desired = [*state.chores.values(), *state.lingering.values()]
        for remedy in state.remedies.values():
            if remedy.pursuing is not None:
                desired.append(remedy.pursuing)
                if remedy.stage is Stage.UNKNOWN:
                    self._start(remedy.pursuing, state)
        for operation in self._ledger.open():
            if operation.intent not in desired:
                self.pursuits.start(operation.intent, operation.action)
                self.pursuits.cancel(operation.intent)

    def _start(self, intent: Intent, state: RemedyState) -> None:
        """Pursue an intent by the scheduler that has the node; while nobody has shown it, wait."""
        action = self._action_of(intent, state)
        late = self._clock.wall() > intent.deadline
        if not action and not late and len(self.pursuits.able(intent)) > 1:
            self._unplaced.append(intent)
            return
        self.pursuits.start(intent, action)
        if late and not action:
            self.pursuits.cancel(intent)

    def _action_of(self, intent: Intent, state: RemedyState) -> str:
        """By which action it was started, also before a restart; else the one that shows the node."""
        return self._ledger.action_of(intent) or state.world.shown_by.get(intent.node, "")
