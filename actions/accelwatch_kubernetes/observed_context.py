"""What was read for an intent, as JSON texts in an observation's `own`, and read again from them. Pure.

An observation carries what the API server sent, so that the same one always leads to the same proposal,
in a test as in a recording. Keys of `own` besides those here belong to the module that reads them.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.action.observed import JobObservation, Observed
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.settings.options import KubernetesOptions

# The intent's node, as JSON; empty where the cluster has none of that name.
NODE = "node"
# That nodes of a Slurm cluster run on it as pods, in words; empty where none does.
SLURM = "slurm"
# The spare of the intent, likewise; for what draws and returns it.
SPARE = "spare"
# Nodes that have no power, with commas.
OFF = "off"


class ObservedContext(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed of a node, a spare or a job, as proposals and effects read it."""

    # Unix seconds at which it was read.
    time: float
    options: KubernetesOptions
    node: Node | None
    spare: Node | None
    job: JobObservation | None
    proven_dead: bool
    own: Mapping[str, str]

    @property
    def off(self) -> frozenset[str]:
        """The nodes that are known to have no power, by the site's command."""
        return frozenset(self.own.get(OFF, "").split(",")) - {""}


def observed_context_of(observed: Observed, options: KubernetesOptions) -> ObservedContext:
    """What the texts say."""
    return ObservedContext(
        time=observed.time,
        options=options,
        node=node_of(observed.own.get(NODE, "")),
        spare=node_of(observed.own.get(SPARE, "")),
        job=observed.job,
        proven_dead=observed.proven_dead,
        own=observed.own,
    )
