"""Killed at any moment over a real API: no taint is forgotten, and nothing is done twice.

The moments are those of the engine's own matrix (tests/remediation/crash.py); the second engine has the
journal and the cluster, and nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import Committed, RefusalKind, Report, Step
from accelwatch.remediation.execution.operations.operation import OPEN, OperationState
from accelwatch.remediation.execution.pursuits import repeating
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.marks.hold import DRAWN, HOLD, Drawn, hold_of
from accelwatch_kubernetes.marks.patches import (
    draw_patch,
    hold_patch,
    new_hold,
    release_patch,
    return_patch,
)
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.steps import DRAW, TAINT, UNTAINT
from remediation.crash import HAPPENED, KilledError, Point, kill_at
from remediation.memory_journal import MemoryJournal
from support.kubernetes.action_on_cluster import (
    NODES,
    Object,
    Pursuits,
    action_on,
    change_node,
    intent,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.nodes import parsed
from support.kubernetes.served import ServedCluster

IDLE = {"key": "accelwatch.io/spare", "effect": "NoSchedule"}
KINDS = (
    IntentKind.QUARANTINE,
    IntentKind.RELEASE,
    IntentKind.DRAW_SPARE,
    IntentKind.RETURN_SPARE,
)
# When what was sent before the kill comes to the server: before the second engine tries again, or after.
LATE_S = {Point.EFFECT_COMES_LATER: (0.03, 0.5)}
RETRY_AFTER_S = (0.1, 0.2, 0.4)
CASES = [
    (kind, point, late_s)
    for kind in KINDS
    for point in Point
    for late_s in LATE_S.get(point, (0.0,))
]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeating, "RETRY_AFTER_S", RETRY_AFTER_S)


class MortalAction:
    """The action, with moments before and after its effect at which everything may end."""

    def __init__(self, action: KubernetesAction) -> None:
        self._action = action
        self.before_effect: Callable[[Step], None] = lambda _: None
        self.after_effect: Callable[[Step], None] = lambda _: None
        self.performed: list[tuple[Step, Committed]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._action, name)

    async def perform(self, step: Step, operation: Committed) -> Report:
        self.performed.append((step, operation))
        self.before_effect(step)
        report = await self._action.perform(step, operation)
        self.after_effect(step)
        return report


class Stage:
    """What outlives an engine: cluster and journal; and what was on its way when it was killed."""

    def __init__(self, cluster: ServedCluster, late_s: float) -> None:
        self.cluster = cluster
        self.journal = MemoryJournal()
        self._late_s = late_s
        # While it is not set, what is on its way does not come.
        self.may_come = asyncio.Event()
        self.may_come.set()
        self._nodes: dict[str, Object] = {}
        self._under_way: list[asyncio.Task[int]] = []

    async def note(self, *names: str) -> None:
        """The nodes as the first engine reads them."""
        self._nodes = {name: await node_of(self.cluster, name) for name in names}

    def apply_later(self, step: object) -> None:
        """The request that the first engine has sent comes to the server in a while."""
        assert isinstance(step, Step)
        node = parsed(self._nodes[step.arguments["node"]])
        patch = sent(step, node)
        self._under_way.append(asyncio.create_task(self._send(node.name, patch)))

    async def _send(self, name: str, patch: Mapping[str, Any]) -> int:
        await asyncio.sleep(self._late_s)
        await self.may_come.wait()
        path = f"{NODES}/{name}"
        status, _ = await self.cluster.request("PATCH", path, patch, kind="merge-patch+json")
        return status

    async def all_came(self) -> list[int]:
        """What the server has answered to what came late."""
        return list(await asyncio.gather(*self._under_way))


def sent(step: Step, node: Any) -> Mapping[str, Any]:
    """What a step sends for a node."""
    options = KubernetesOptions()
    if step.kind == TAINT:
        arguments = step.arguments
        hold = new_hold(
            node,
            options,
            incident=arguments["incident"],
            token=3,
            since=1.0,
            rule=arguments["rule"],
            reason=arguments["reason"],
        )
        return hold_patch(node, hold, options)
    if step.kind == UNTAINT:
        there = hold_of(node)
        assert there is not None
        return release_patch(node, there)
    if step.kind == DRAW:
        note = Drawn(
            incident=step.arguments["incident"],
            token=3,
            by="accelwatch",
            since=1.0,
            uid=node.metadata.uid,
        )
        return draw_patch(node, note, options)
    return return_patch(node, options)


class Mortal:
    """One engine that is killed, as `kill_at` knows it."""

    def __init__(self, stage: Stage, action: KubernetesAction) -> None:
        self.journal = stage.journal
        self.action = MortalAction(action)
        self.apply_later = stage.apply_later


async def prepared(cluster: ServedCluster, kind: IntentKind) -> Intent:
    """What is wanted, in a cluster in which it is worth something."""
    await make_node(cluster, "n1")
    await make_node(cluster, "s1", taints=[IDLE])
    async with action_on(cluster) as action:
        before = Pursuits(action)
        original: Mapping[str, str] = {}
        if kind is IntentKind.RELEASE:
            original = (await before.pursue(intent(IntentKind.QUARANTINE))).original
        if kind is IntentKind.RETURN_SPARE:
            await before.pursue(intent(IntentKind.DRAW_SPARE, spare="s1"))
    return intent(kind, spare="s1" if "spare" in kind.value else "", original=dict(original))


def marks(document: Object) -> tuple[bool, bool, bool]:
    """Our taint, our annotation, our note of a draw."""
    annotations = document["metadata"].get("annotations", {})
    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
    return "accelwatch.io/quarantine" in keys, HOLD in annotations, DRAWN in annotations


def as_wanted(kind: IntentKind, node: Object, spare: Object) -> bool:
    """Whether the cluster is as an intent wants it, with no half of a mark on either node."""
    idle = IDLE["key"] in [taint["key"] for taint in spare["spec"].get("taints", [])]
    match kind:
        case IntentKind.QUARANTINE:
            return marks(node) == (True, True, False) and idle
        case IntentKind.DRAW_SPARE:
            return marks(spare) == (False, False, True) and not idle
    return marks(node) == marks(spare) == (False, False, False) and idle


async def killed_and_restarted(
    stage: Stage,
    wanted: Intent,
    point: Point,
    meanwhile: Callable[[], Awaitable[object]] | None = None,
) -> tuple[Pursued, Pursuits, list[NodeObservation]]:
    """What a second engine comes to with the same intent, and how all nodes look then."""
    async with action_on(stage.cluster) as action:
        await stage.note("n1", "s1")
        mortal = Mortal(stage, action)
        kill_at(mortal, point, 0)  # type: ignore[arg-type]
        with pytest.raises(KilledError):
            await Pursuits(mortal.action, stage.journal).pursue(wanted)
    stage.journal.before = stage.journal.after = lambda _: None
    if meanwhile is not None:
        await meanwhile()
    async with action_on(stage.cluster) as action:
        second = Pursuits(action, stage.journal)
        end = await second.pursue(wanted)
        await stage.all_came()
        return end, second, list(await action.observe_all())


@pytest.mark.parametrize(("kind", "point", "late_s"), CASES)
def test_trap_07_a_killed_engine_goes_on_without_harm(
    cluster: ServedCluster, kind: IntentKind, point: Point, late_s: float
) -> None:
    async def run() -> None:
        wanted = await prepared(cluster, kind)
        stage = Stage(cluster, late_s)
        end, engine, _ = await killed_and_restarted(stage, wanted, point)
        assert end.result is PursuitResult.ACHIEVED
        assert engine.ledger.open() == []
        assert as_wanted(kind, await node_of(cluster), await node_of(cluster, "s1"))

    asyncio.run(run())


@pytest.mark.parametrize("point", Point)
def test_a_killed_engine_forgets_no_taint(cluster: ServedCluster, point: Point) -> None:
    """Before anything looks again: what may be held is in the journal, not as failed."""

    async def run() -> None:
        wanted = await prepared(cluster, IntentKind.QUARANTINE)
        stage = Stage(cluster, 0.0)
        stage.may_come.clear()
        async with action_on(cluster) as action:
            await stage.note("n1", "s1")
            mortal = Mortal(stage, action)
            kill_at(mortal, point, 0)  # type: ignore[arg-type]
            with pytest.raises(KilledError):
                await Pursuits(mortal.action, stage.journal).pursue(wanted)
            (seen,) = [node for node in await action.observe_all() if node.name == "n1"]
        stage.journal.before = stage.journal.after = lambda _: None
        assert (seen.hold_state is HoldState.OURS) == (point in HAPPENED)
        if seen.hold_state is HoldState.OURS:
            (known,) = Pursuits(mortal.action, stage.journal).operations()
            assert known.state in OPEN | {OperationState.OBSERVED}
            assert known.started is not None
        stage.may_come.set()
        await stage.all_came()

    asyncio.run(run())


@pytest.mark.parametrize("point", [Point.AFTER_EFFECT, Point.AFTER_REPORT, Point.AFTER_OBSERVED])
def test_trap_03_who_frees_the_node_while_nobody_runs_keeps_it(
    cluster: ServedCluster, point: Point
) -> None:
    """By the taint alone: the annotation says that it was held, whatever the journal has come to."""

    async def free() -> None:
        await change_node(cluster, "n1", {"spec": {"taints": None}})

    async def run() -> None:
        wanted = await prepared(cluster, IntentKind.QUARANTINE)
        end, _, _ = await killed_and_restarted(Stage(cluster, 0.2), wanted, point, free)
        assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN)
        assert not marks(await node_of(cluster))[0]

    asyncio.run(run())


def test_trap_01_who_cordons_while_nobody_runs_has_the_node(cluster: ServedCluster) -> None:
    async def cordon() -> None:
        await change_node(cluster, "n1", {"spec": {"unschedulable": True}})

    async def run() -> None:
        wanted = await prepared(cluster, IntentKind.QUARANTINE)
        stage = Stage(cluster, 0.2)
        end, _, _ = await killed_and_restarted(stage, wanted, Point.AFTER_START, cordon)
        assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
        assert marks(await node_of(cluster)) == (False, False, False)

    asyncio.run(run())


def test_trap_24_a_node_made_again_while_nobody_runs_is_a_new_one(cluster: ServedCluster) -> None:
    async def make_again() -> None:
        await cluster.ask("DELETE", f"{NODES}/n1")
        await make_node(cluster, "n1", taints=[])

    async def run() -> None:
        wanted = await prepared(cluster, IntentKind.RELEASE)
        stage = Stage(cluster, 0.2)
        end, engine, _ = await killed_and_restarted(stage, wanted, Point.AFTER_START, make_again)
        assert end.result is PursuitResult.ACHIEVED
        assert engine.ledger.open() == []
        assert marks(await node_of(cluster)) == (False, False, False)

    asyncio.run(run())


def test_a_taint_that_comes_after_its_release_is_refused(cluster: ServedCluster) -> None:
    """The request was under way for minutes; the node was read anew, held and given back since."""

    async def run() -> None:
        await make_node(cluster)
        before = await node_of(cluster)
        async with action_on(cluster) as action:
            pursuits = Pursuits(action)
            wanted = intent(IntentKind.QUARANTINE)
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            stage = Stage(cluster, 0.0)
            await stage.note("n1")
            held = await pursuits.pursue(wanted)
            release = intent(IntentKind.RELEASE, original=dict(held.original))
            assert (await pursuits.pursue(release)).result is PursuitResult.ACHIEVED
            stage.apply_later(step)
            assert await stage.all_came() == [409]
        assert what_counts(await node_of(cluster)) == what_counts(before)

    asyncio.run(run())


def test_marks_that_no_journal_knows_are_shown_with_their_incident(cluster: ServedCluster) -> None:
    """Then the engine asks a person, who releases the node: by the incident on the mark."""

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            await Pursuits(action).pursue(intent(IntentKind.QUARANTINE, incident="lost"))
            (seen,) = await action.observe_all()
            assert seen.hold_state is HoldState.OURS
            assert seen.annotation is not None
            adopted = intent(IntentKind.RELEASE, incident=seen.annotation.incident)
            assert (await Pursuits(action).pursue(adopted)).result is PursuitResult.ACHIEVED
        assert marks(await node_of(cluster)) == (False, False, False)

    asyncio.run(run())
