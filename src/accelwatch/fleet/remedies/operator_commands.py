"""What people order of the remediation engine, and a release by hand where the journal is lost."""

from collections.abc import Callable, Mapping, Sequence

from accelwatch.action.contract import Action
from accelwatch.action.observed import NodeObservation
from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.machine import machine_of
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.execution.release_by_hand import NotReleasedError, release
from accelwatch.remediation.policy.context.outcome import Loudness, Note
from accelwatch.remediation.policy.guards import identity
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.identity import Machine, Proof
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.settings import RemedySettings


class OperatorCommands:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        engine: Engine,
        incident_store: IncidentStore,
        actions: Mapping[str, Action],
        settings: Callable[[], RemedySettings],
    ) -> None:
        """`settings` are those in force."""
        self._fleet = fleet
        self._engine = engine
        self._incident_store = incident_store
        self._actions = actions
        self._settings = settings

    async def submit(self, command: Command, address: str, *, already_checked: bool) -> Reply:
        """What a person wants; when this returns it is written down, or the answer says why not.

        An approval waits for a poll of its node, unless there was one just now (`already_checked`).
        A node of ours can be given back by `force_release` without a journal: then the log has it.
        """
        forced = command.verb is Verb.FORCE_RELEASE
        problem = self._lost_journal if forced else ""
        if not problem:
            reply = await self._engine.submit_command(
                command, address, already_checked=already_checked
            )
            if reply.problem and command.verb is Verb.RELEASE and self._lost_journal:
                release_command = f"accelwatch remedy release {command.node} --force --reason WHY"
                hint = f"{release_command} works without a journal"
                return reply._replace(
                    problem=f"{hint}, which cannot be written: {self._lost_journal}"
                )
            problem = reply.problem
            if not forced or not problem:
                return reply
        return await self._release_by_hand(command, address, problem)

    @property
    def _lost_journal(self) -> str:
        """Why the journal cannot be written now; empty while all is well."""
        return next(iter((*self._incident_store.problems, *self._engine.stalls)), "")

    async def _release_by_hand(self, command: Command, address: str, why: str) -> Reply:
        def prove(observed: Sequence[NodeObservation]) -> Proof | Denial:
            existing = self._fleet.nodes.get(command.node)
            machine = Machine(node=command.node) if existing is None else machine_of(existing)
            machines = (machine_of(node) for node in self._fleet.nodes.values())
            return identity.prove(machine, machines, observed, self._settings().nodes)

        try:
            done = await release(self._actions, command, prove, self._fleet.clock, address)
        except NotReleasedError as error:
            # Long answers lose their end.
            return Reply(problem=f"{error}. Nor can the journal be written: {why}")
        text = f"{done}; it is not in the journal: {why}"
        note = Note(text=text, loudness=Loudness.LOG, node=command.node, actor=command.by)
        return Reply(notes=(note,))
