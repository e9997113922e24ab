"""The action on a cluster that runs, and the engine's own pursuits over it."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from accelwatch.action.contract import Action, ActionContext
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import (
    KIND,
    Operation,
    OperationState,
    operation_of,
)
from accelwatch.remediation.execution.pursuits.pursuit import Pursuit
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch_kubernetes import KubernetesAction
from accelwatch_lab.cluster.kubernetes.access import Account
from remediation.memory_journal import MemoryJournal
from support.kubernetes.hub_account import allow_actions
from support.kubernetes.served import ServedCluster

NAME = "cluster"
NODES = "/api/v1/nodes"
Object = dict[str, Any]
# What the node controllers say of a node without a kubelet, some time after it was made.
_CONTROLLERS = ("node.kubernetes.io/", "node.alpha.kubernetes.io/")


@asynccontextmanager
async def action_on(
    cluster: ServedCluster,
    account: Account | None = None,
    *,
    clock: Clock | None = None,
    **options: Any,
) -> AsyncIterator[KubernetesAction]:
    """The action as somebody who is known to the cluster; as the hub of the manifests without one."""
    if account is None:
        await allow_actions(cluster)
        account = Account.HUB
    access = cluster.access(account)
    server = {
        "api_server": access.url,
        "ca_file": str(access.ca_file),
        "token_file": str(cluster.token_file(account)),
    }
    context = ActionContext(
        name=NAME, options={"server": server, **options}, clock=clock or SystemClock()
    )
    action = KubernetesAction(context)
    try:
        yield action
    finally:
        await action.close()


def intent(
    kind: IntentKind, name: str = "n1", *, incident: str = "inc-1", token: int = 3, **more: Any
) -> Intent:
    """What is wanted of a node, now."""
    now = SystemClock().wall()
    more = {"reason": "Xid 79 on GPU 3", "rule": "nvidia.gpu.lost", "asked": now, **more}
    mark = OwnerAnnotation(incident, token)
    return Intent(kind=kind, mark=mark, node=name, deadline=now + 60.0, **more)


class Pursuits:
    """What the engine does for one intent after another, over a journal in memory."""

    def __init__(self, action: Action, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        ids = map(str, itertools.count(len(self.journal.written) + 1))
        clock = SystemClock()
        self.ledger = Ledger(self.journal.commit, clock, self.journal.states(), lambda: next(ids))
        self.site = Site(
            NAME,
            action,
            self.ledger,
            Lanes(),
            lambda _: "",
            clock,
            jitter=lambda: 0.0,
            as_of_now=lambda intent: intent,
        )

    async def pursue(self, wanted: Intent, within_s: float = 60.0) -> Pursued:
        """Until it ends."""
        reported: list[Pursued] = []
        async with asyncio.timeout(within_s):
            await Pursuit(self.site, wanted, reported.append).run()
        return reported[-1]

    def operations(self) -> list[Operation]:
        """As the journal has them."""
        return [operation_of(state) for state in self.journal.states() if state.kind == KIND]

    def done(self, wanted: Intent) -> list[str]:
        """The steps that were seen to be done for an intent."""
        return [
            operation.step.kind
            for operation in self.ledger.of(NAME, wanted)
            if operation.state is OperationState.OBSERVED
        ]


async def make_node(cluster: ServedCluster, name: str = "n1", **spec: Any) -> Object:
    """A node, as its kubelet would have made it."""
    made: Object = await cluster.ask(
        "POST",
        NODES,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": spec,
        },
    )
    return made


async def node_of(cluster: ServedCluster, name: str = "n1") -> Object:
    """A node as it is now."""
    found: Object = await cluster.ask("GET", f"{NODES}/{name}")
    return found


async def change_node(cluster: ServedCluster, name: str, patch: Object) -> Object:
    """What another person or tool writes."""
    changed: Object = await cluster.ask("PATCH", f"{NODES}/{name}", patch, "merge-patch+json")
    return changed


def what_counts(document: Object) -> Object:
    """Metadata and spec of a node without what the server and its own controllers write."""
    ignored = ("resourceVersion", "managedFields")
    metadata = {key: value for key, value in document["metadata"].items() if key not in ignored}
    annotations = metadata.pop("annotations", {})
    metadata["annotations"] = {
        key: value for key, value in annotations.items() if not key.startswith(_CONTROLLERS)
    }
    spec = dict(document["spec"])
    spec["taints"] = [
        taint for taint in spec.get("taints", []) if not taint["key"].startswith(_CONTROLLERS)
    ]
    return {"metadata": metadata, "spec": spec}
