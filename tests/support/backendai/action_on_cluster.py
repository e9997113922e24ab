"""The action on a Backend.AI that runs, and the engine's own pursuits over it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.base.clock import Clock, SystemClock
from accelwatch_backendai.action import BackendAiAction
from accelwatch_lab.cluster.backendai.access import Account
from support.backendai.served import Row, ServedCluster
from support.kubernetes.action_on_cluster import NAME
from support.kubernetes.action_on_cluster import intent as intent_about

INCIDENT = "inc-1"


@asynccontextmanager
async def action_on(
    cluster: ServedCluster,
    *held: str,
    account: Account = Account.SUPERADMIN,
    clock: Clock | None = None,
    **options: Any,
) -> AsyncIterator[BackendAiAction]:
    """The action as somebody with a key; `held` are the agents that we hold by the journal."""
    settings = {"server": cluster.server(account), **options}
    context = ActionContext(name=NAME, options=settings, clock=clock or SystemClock())
    action = BackendAiAction(context)
    action.set_quarantines(holds(*held))
    try:
        yield action
    finally:
        await action.close()


def holds(*agents: str) -> Mapping[str, OwnerAnnotation]:
    """Our holds, as the engine's journal would have them."""
    return {agent: OwnerAnnotation(INCIDENT, 3) for agent in agents}


def key_of(row: Row) -> JobKey:
    """The job of a session that was never moved."""
    return JobKey(NAME, row["session_id"], 0.0)


def move(row: Row, *bad: str, **more: Any) -> Intent:
    """That a session runs on without some agents; the first is the one that has the incident."""
    return intent_about(IntentKind.MOVE_JOB, bad[0], job=key_of(row), bad_nodes=bad, **more)


def agents_of(row: Row) -> list[str]:
    """Where its kernels are, or were."""
    return sorted(kernel["agent"] for kernel in row["containers"])
