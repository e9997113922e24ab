"""What stands in the tables of the action: readings and proposals by intent, effects by step."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.kit import effects
from accelwatch.action.kit.power import PowerSwitch
from accelwatch.action.step import Proposal
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.versions import ServedVersions
from accelwatch.base.clock import Clock
from accelwatch_kubernetes.access.reader import NodeReader
from accelwatch_kubernetes.answering import AnswerTimes
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.workloads.checkpoints import Checkpoints
from accelwatch_kubernetes.workloads.owner_index import OwnerIndex


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """By what readings and effects reach the cluster."""

    # The action's name in the configuration; `JobKey.cluster` of its jobs.
    name: str
    options: KubernetesOptions
    clock: Clock
    client: KubernetesClient
    nodes: NodeReader
    power: PowerSwitch
    checkpoints: Checkpoints
    # What pods belong to, as far as it was read.
    owners: OwnerIndex
    # Since when the kubelets of fenced nodes answer.
    answering: AnswerTimes
    versions: ServedVersions


# Raises ActionUnavailableError. What is read already of the node is in `own`.
Read = Callable[[Access, Intent, Mapping[str, str]], Awaitable[effects.Reading]]
# The next step towards an intent. Pure.
Propose = Callable[[Intent, ObservedContext], Proposal]
# One kind of step.
Effect = effects.Effect[Access, ObservedContext]
