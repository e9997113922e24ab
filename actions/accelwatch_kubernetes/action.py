"""The action: reads, proposes, performs, recovers; each by the rows of its tables."""

import os
import shlex
from collections.abc import Mapping, Sequence

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind
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
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import KubernetesError
from accelwatch.api_client.kubernetes.server import server_of
from accelwatch.api_client.kubernetes.versions import ServedVersions
from accelwatch.plugins.options import checked
from accelwatch_kubernetes.access.answers import report_of
from accelwatch_kubernetes.access.permissions import Permissions
from accelwatch_kubernetes.access.reader import NodeReader
from accelwatch_kubernetes.answering import AnswerTimes
from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.devices.taint_rule import labels_of
from accelwatch_kubernetes.marks.hold import HOLD, OUT_OF_SERVICE, OUT_OF_SERVICE_EFFECT
from accelwatch_kubernetes.observed_context import observed_context_of
from accelwatch_kubernetes.observer import Observer
from accelwatch_kubernetes.readings.previews import drain_preview
from accelwatch_kubernetes.recovering import recovered
from accelwatch_kubernetes.rows import Access
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.tables import PROPOSALS, READINGS, effects_of
from accelwatch_kubernetes.workloads.checkpoints import Checkpoints
from accelwatch_kubernetes.workloads.owner_index import OwnerIndex


class KubernetesAction:
    """One cluster."""

    def __init__(self, context: ActionContext) -> None:
        """Raises ConfigError."""
        self._options = options = checked(context.options, KubernetesOptions)
        server = server_of(options.server, context.environ)
        self._client = client = KubernetesClient(server, clock=context.clock)
        self._cache = ClusterCache(client, options)
        self._access = access = Access(
            name=context.name,
            options=options,
            clock=context.clock,
            client=client,
            nodes=NodeReader(client, self._cache.put_node),
            power=PowerSwitch(
                options.power_off, options.power_state, options.power_timeout_s, context.clock
            ),
            checkpoints=Checkpoints(options.checkpoints),
            owners=OwnerIndex(context.name),
            answering=AnswerTimes(context.clock),
            versions=ServedVersions(client, context.clock),
        )
        self._observer = Observer(access, self._cache, READINGS)
        self._effects = effects_of(options)
        self._performer = Performer(access, self._effects, KubernetesError, report_of)
        self._permissions = Permissions(client, context.clock)

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
        """A job waits, maybe for hours, for nodes that are not bad."""
        return frozenset({IntentKind.MOVE_JOB})

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes at once. Raises ActionUnavailableError."""
        nodes = await self._observer.observe_all()
        await self._permissions.refresh()
        return nodes

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What the roles that are bound to us do not allow."""
        return self._permissions.impossible

    def complaints(self) -> Sequence[str]:
        """Files of the options that cannot be read; calls no server."""
        server = self._options.server
        files = {
            "token_file": server.token_file,
            "ca_file": server.ca_file,
            "cert_file": server.cert_file,
            "key_file": server.key_file,
        }
        return [
            f"server.{key}: {file} cannot be read; it has to be a file that the hub may read"
            for key, file in files.items()
            if file and not os.access(file, os.R_OK)
        ]

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        return await self._observer.observe(intent)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The next step towards it, or why there is none. Pure."""
        propose = PROPOSALS.get(intent.kind)
        if propose is None:
            text = f"Kubernetes cannot do that: {intent.kind.value}"
            return Refusal(RefusalKind.IMPOSSIBLE, text)
        return propose(intent, observed_context_of(observed, self._options))

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do one step. Raises nothing: the report says what went wrong."""
        return await self._performer.perform(step, operation)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a step whose end nobody saw. Pure."""
        effect = self._effects.get(started_step.step.kind)
        return recovered(started_step, effect, observed_context_of(observed, self._options))

    @property
    def quarantines_devices(self) -> bool:
        """Whether its options quarantine single devices."""
        return self._options.devices is not None

    async def preview(self, node: str, device: str) -> Sequence[str]:
        """What the API server answers to dry runs of a drain. Raises ActionUnavailableError."""
        return await drain_preview(self._access, node, device)

    def release_command(self, node: str) -> str:
        """The command that gives a node back, as a person types it."""
        name, options = shlex.quote(node), self._options
        uncordon = f" && kubectl uncordon {name}" if options.cordon else ""
        if options.devices is not None:
            selector = ",".join(
                f"{key}={text}" for key, text in labels_of(node, options.hub).items()
            )
            rules = f"; kubectl delete devicetaintrules -l {selector}"
        else:
            rules = ""
        taints = [f"{options.taint}-"]
        if self._cache.is_out_of_service(node):
            taints.append(f"{OUT_OF_SERVICE}:{OUT_OF_SERVICE_EFFECT}-")
        return (
            f"kubectl taint nodes {name} {' '.join(taints)} && "
            f"kubectl annotate node {name} {HOLD}-{uncordon}{rules}"
        )

    async def close(self) -> None:
        """Give the connections back, and stop following."""
        self._access.power.close()
        self._access.checkpoints.close()
        await self._client.close()
        await self._cache.close()
