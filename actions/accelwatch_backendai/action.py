"""The action: reads, proposes, performs, recovers; each by the rows of its tables."""

import json
import shlex
from collections.abc import Mapping, Sequence

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.kit.checkpoint_search import CheckpointSearch
from accelwatch.action.kit.performing import Performer
from accelwatch.action.kit.power import PowerSwitch
from accelwatch.action.observed import NodeObservation, Observed
from accelwatch.action.step import (
    Committed,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.errors import BackendAiError
from accelwatch.api_client.backendai.releases import ManagerRelease
from accelwatch.api_client.backendai.server import server_of
from accelwatch.plugins.options import checked
from accelwatch_backendai.api.answers import report_of
from accelwatch_backendai.api.permissions import Permissions, complaints_of
from accelwatch_backendai.api.specifications import Specifications
from accelwatch_backendai.observed_context import observed_context_of
from accelwatch_backendai.observer import Observer
from accelwatch_backendai.quarantines import Quarantines
from accelwatch_backendai.readings.previews import drain_preview
from accelwatch_backendai.recovering import recovered
from accelwatch_backendai.rows import Access
from accelwatch_backendai.settings.options import BackendAiOptions
from accelwatch_backendai.tables import PROPOSALS, READINGS, effects_of


class BackendAiAction:
    """One manager."""

    def __init__(self, context: ActionContext) -> None:
        """Raises ConfigError."""
        self._options = options = checked(context.options, BackendAiOptions)
        self._client = client = BackendAiClient(server_of(options.server), clock=context.clock)
        release = ManagerRelease(client, context.clock)
        self._access = access = Access(
            name=context.name,
            options=options,
            clock=context.clock,
            client=client,
            release=release,
            quarantines=Quarantines(),
            power=PowerSwitch(
                options.power_off, options.power_state, options.power_timeout_s, context.clock
            ),
            checkpoints=CheckpointSearch(),
            specifications=Specifications(client, release, options.specifications),
        )
        self._observer = Observer(access, READINGS)
        self._effects = effects_of(options)
        self._performer = Performer(access, self._effects, BackendAiError, report_of)
        self._permissions = Permissions(
            client,
            access.release,
            context.clock,
            self.intents,
            specified=any(rule.file or rule.template for rule in options.specifications),
        )

    @property
    def intents(self) -> frozenset[IntentKind]:
        """The intents that it carries out."""
        return frozenset(PROPOSALS)

    @property
    def steps(self) -> Mapping[str, StepKind]:
        """What its steps are like."""
        return {name: effect.kind for name, effect in self._effects.items()}

    @property
    def corrects(self) -> frozenset[IntentKind]:
        """A session waits, maybe for hours, for agents that are not bad.

        The draw of a spare needs no bad agents but its own `original`: only by that is a spare in the
        job's group ours, and not put there by a person.
        """
        return frozenset({IntentKind.MOVE_JOB, IntentKind.DRAW_SPARE})

    def set_quarantines(self, quarantines: Mapping[str, OwnerAnnotation]) -> None:
        """Our holds by the journal: an agent's row has no field for that."""
        self._access.quarantines.follow(quarantines)

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All agents at once. Raises ActionUnavailableError."""
        await self._permissions.refresh()
        if problem := self._permissions.problem:
            raise ActionUnavailableError(problem)
        return await self._observer.observe_all()

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What the key may not do, and what the manager's release cannot."""
        return self._permissions.impossible

    @property
    def rights(self) -> str:
        """What the key may do."""
        return self._permissions.rights

    def complaints(self) -> Sequence[str]:
        """What keeps the key from being used; sends nothing."""
        return complaints_of(self._options.server)

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        return await self._observer.observe(intent)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The next step towards it, or why there is none. Pure."""
        propose = PROPOSALS.get(intent.kind)
        if propose is None:
            text = f"Backend.AI cannot do that: {intent.kind.value}"
            return Refusal(RefusalKind.IMPOSSIBLE, text)
        return propose(intent, observed_context_of(observed, self._options))

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do one step. Raises nothing: the report says what went wrong."""
        return await self._performer.perform(step, operation)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a step whose end nobody saw. Pure."""
        effect = self._effects.get(started_step.step.kind)
        return recovered(started_step, effect, observed_context_of(observed, self._options))

    async def preview(self, node: str, device: str) -> Sequence[str]:  # noqa: ARG002  agents are whole
        """What would become of an agent's sessions. Raises ActionUnavailableError."""
        return await drain_preview(self._access, node)

    def release_command(self, node: str) -> str:
        """The command that gives an agent back, as a superadmin types it."""
        mutation = (
            f"mutation {{ modify_agent(id: {json.dumps(node)}, props: {{schedulable: true}}) "
            "{ ok msg } }"
        )
        return f"backend.ai v2 gql {shlex.quote(mutation)}"

    async def close(self) -> None:
        """Give the connections back."""
        self._access.power.close()
        self._access.checkpoints.close()
        await self._client.close()
