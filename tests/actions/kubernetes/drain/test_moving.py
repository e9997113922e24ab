"""Which step moves a job off its bad nodes: evictions that will be granted, and nothing beside them."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch.plugins.options import checked
from accelwatch_kubernetes.drain.job_view import VERDICTS
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, Verdict, encoded
from accelwatch_kubernetes.proposals.moving import propose_move
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.workloads.changes import SUSPENDED
from support.kubernetes.moving import KEY, held_node, job_context
from support.kubernetes.nodes import NOW, intent, node, parsed
from support.kubernetes.pods import pod
from support.kubernetes.workloads import IGNORES, plain_job, workload

# A Job that an eviction does not count against, with two pods.
JOB = plain_job(parallelism=2, completions=2, podFailurePolicy=IGNORES)
LATE = "2099-01-01T00:00:00Z"


def move(**more: Any) -> Intent:
    more = {"job": KEY, "bad_nodes": ("n1",), "asked": NOW - 5.0, **more}
    return intent(IntentKind.MOVE_JOB, **more)


def test_a_pod_on_the_bad_node_is_evicted_by_its_uid() -> None:
    context = job_context([pod("a"), pod("b", node="n2")], [JOB])
    step = propose_move(move(), context)
    assert isinstance(step, Step)
    assert step.kind == "evict"
    assert step.arguments == {"namespace": "ml", "pod": "a", "node": "n1"}
    assert step.precondition == {"uid": "uid-of-a"}
    assert step.original == {"evicted uid-of-a": "ml/a on n1"}


def test_the_first_that_the_server_allows_is_evicted() -> None:
    refused = {"a": (EvictionVerdict.BUDGET, "PDB ml/trainers allows no eviction now")}
    step = propose_move(move(), job_context([pod("a"), pod("b")], [JOB], verdicts=refused))
    assert isinstance(step, Step)
    assert step.arguments["pod"] == "b"


def test_a_budget_that_allows_none_is_waited_for_and_named() -> None:
    refused = {"a": (EvictionVerdict.BUDGET, "PDB ml/trainers allows no eviction now")}
    waits = propose_move(move(), job_context([pod("a")], [JOB], verdicts=refused))
    assert isinstance(waits, Wait)
    assert waits.text == "ml/a: PDB ml/trainers allows no eviction now"


def on_node(document: dict[str, Any], pods: list[dict[str, Any]]) -> Any:
    """As the observation of a move shows it beside its node."""
    return msgspec.structs.replace(job_context(pods, [JOB]), node=parsed(document))


def test_trap_03_who_frees_the_node_while_a_drain_waits_keeps_his_pods() -> None:
    freed = held_node("n1")
    freed["spec"].pop("taints")
    refusal = propose_move(move(), on_node(freed, [pod("a")]))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.OVERRIDDEN
    assert "the taint accelwatch.io/quarantine of n1 was removed" in refusal.text


def test_a_drain_goes_on_while_the_hold_stands_or_is_of_another_incident() -> None:
    assert isinstance(propose_move(move(), on_node(held_node("n1"), [pod("a")])), Step)
    freed = held_node("n1", incident="inc-2")
    freed["spec"].pop("taints")
    assert isinstance(propose_move(move(), on_node(freed, [pod("a")])), Step)


def test_what_has_left_a_freed_node_is_followed_to_its_end() -> None:
    freed = held_node("n1")
    freed["spec"].pop("taints")
    there = [pod("a", node="n2"), pod("b", node="n3")]
    assert isinstance(propose_move(move(), on_node(freed, there)), Achieved)


@pytest.mark.parametrize("answer", [EvictionVerdict.NEVER, EvictionVerdict.REFUSED])
def test_trap_11_what_no_waiting_mends_is_reported_to_a_person_once(
    answer: EvictionVerdict,
) -> None:
    refused = {"a": (answer, "PDBs ml/one and ml/two both cover it")}
    refusal = propose_move(move(), job_context([pod("a")], [JOB], verdicts=refused))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert "PDBs ml/one and ml/two" in refusal.text


@pytest.mark.parametrize(
    ("pods", "kind"),
    [
        ([pod("a"), pod("b", node="n2")], Refusal),
        # Its replacement is on its way, and then the budget has one pod more.
        ([pod("a")], Wait),
        ([pod("a"), pod("b", node="", phase="Pending")], Wait),
        ([pod("a"), pod("b", node="n2", ending=True)], Wait),
    ],
)
def test_trap_11_a_budget_that_needs_all_pods_refuses_for_good_once_all_are_there(
    pods: list[Any], kind: type
) -> None:
    context = job_context(pods, [JOB])
    needs_all = Verdict(uid="uid-of-a", answer=EvictionVerdict.BUDGET, needs_all=True, text="PDB")
    own = {**context.own, VERDICTS: encoded([needs_all])}
    assert isinstance(propose_move(move(), msgspec.structs.replace(context, own=own)), kind)


def test_while_one_of_two_may_still_leave_it_waits() -> None:
    refused = {"a": (EvictionVerdict.NEVER, "never"), "b": (EvictionVerdict.BUDGET, "not now")}
    waits = propose_move(move(), job_context([pod("a"), pod("b")], [JOB], verdicts=refused))
    assert isinstance(waits, Wait)


@pytest.mark.parametrize("answer", [EvictionVerdict.CHANGED, EvictionVerdict.LATER])
def test_a_pod_that_has_changed_is_read_again(answer: EvictionVerdict) -> None:
    waits = propose_move(move(), job_context([pod("a")], [JOB], verdicts={"a": (answer, "")}))
    assert isinstance(waits, Wait)


def test_a_terminating_pod_is_waited_for_and_not_evicted_again() -> None:
    waits = propose_move(move(), job_context([pod("a", ending=True)], [JOB]))
    assert isinstance(waits, Wait)
    assert waits.text == "ml/a is terminating on n1, within 30 s"


def test_a_job_that_has_moved_runs_on_no_bad_node() -> None:
    context = job_context([pod("a", node="n3"), pod("b", node="n2")], [JOB])
    assert propose_move(move(), context) == Achieved(
        "job ml/Job/trainer runs on n2,n3", moved_to=("n2", "n3")
    )


def test_progress_is_proven_by_all_pods_that_the_job_has() -> None:
    waits = propose_move(move(), job_context([pod("b", node="n2")], [JOB]))
    assert isinstance(waits, Wait)
    assert waits.text == "job ml/Job/trainer lacks 1 of its pods"


def test_a_pending_replacement_is_waited_for_in_the_schedulers_words() -> None:
    pending = pod("c", node="", phase="Pending")
    pending["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
    ]
    waits = propose_move(move(), job_context([pending, pod("b", node="n2")], [JOB]))
    assert isinstance(waits, Wait)
    assert waits.text == "ml/c is pending: 0/2 nodes are available"


def test_where_no_object_says_how_many_each_evicted_pod_has_to_be_replaced() -> None:
    unknown = workload("example.com/v1", "Runner")
    key = msgspec.structs.replace(KEY, id="ml/Runner/trainer")
    owner = ("example.com/v1", "Runner", "trainer")
    before = pod("b", node="n2", owner=owner, created="2026-01-01T00:00:00Z")
    after = pod("c", node="n3", owner=owner, created=LATE)
    wanted = move(job=key)
    early = job_context([before], [unknown], key=key, evicted=["uid-of-a"])
    assert isinstance(propose_move(wanted, early), Wait)
    late = job_context([before, after], [unknown], key=key, evicted=["uid-of-a"])
    assert isinstance(propose_move(wanted, late), Achieved)


def test_a_silent_node_is_fenced_first() -> None:
    context = job_context([pod("a")], [JOB], nodes=[held_node(ready="Unknown")])
    refusal = propose_move(move(), context)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.UNSAFE
    assert "n1 does not answer: fence it first" in refusal.text


@pytest.mark.parametrize(
    ("more", "off"),
    [({"fenced_by_job": True}, ()), ({}, ("n1",))],
)
def test_a_silent_node_is_left_when_nothing_of_it_can_run_twice(
    more: dict[str, Any], off: tuple[str, ...]
) -> None:
    nodes = [held_node(ready="Unknown")]
    context = job_context([pod("a")], [JOB], nodes=nodes, off=off, proven_dead=bool(off))
    assert isinstance(propose_move(move(**more), context), Step)


def test_trap_18_what_an_eviction_would_fail_for_good_is_suspended_and_started_again() -> None:
    job = plain_job(parallelism=1, completions=1, backoffLimit=0)
    step = propose_move(move(), job_context([pod("a")], [job]))
    assert isinstance(step, Step)
    assert (step.kind, step.precondition) == ("suspend", {"uid": "uid-of-trainer"})
    body = msgspec.json.decode(step.arguments["body"])
    assert body["spec"] == {"suspend": True}
    assert body["metadata"]["resourceVersion"] == "7"
    suspended = plain_job(parallelism=1, completions=1, backoffLimit=0, suspend=True)
    suspended["metadata"]["annotations"] = body["metadata"]["annotations"]
    waits = propose_move(move(), job_context([pod("a", ending=True)], [suspended]))
    assert isinstance(waits, Wait)
    again = propose_move(move(), job_context([], [suspended]))
    assert isinstance(again, Step)
    assert again.kind == "start_again"
    assert msgspec.json.decode(again.arguments["body"])["spec"] == {"suspend": False}


def test_a_job_that_its_user_starts_before_us_is_moved_once_it_runs() -> None:
    """Our annotation stays behind: its new pods would be waited for as old ones until the deadline."""
    started = plain_job(parallelism=1, completions=1, backoffLimit=0, suspend=False)
    note = msgspec.json.encode({"incident": "inc-1", "token": 3, "by": "accelwatch"}).decode()
    started["metadata"]["annotations"] = {SUSPENDED: note}
    assert isinstance(propose_move(move(), job_context([], [started])), Wait)
    moved = propose_move(move(), job_context([pod("b", node="n2")], [started]))
    assert isinstance(moved, Achieved)
    assert moved.moved_to == ("n2",)


def test_trap_18_what_cannot_be_started_again_is_left_and_reported() -> None:
    """A vcjob whose policy ends it when a pod is evicted."""
    job = workload(
        "batch.volcano.sh/v1alpha1",
        "Job",
        spec={"policies": [{"event": "PodEvicted", "action": "TerminateJob"}]},
    )
    key = msgspec.structs.replace(KEY, id="ml/vcjob/trainer")
    refusal = propose_move(move(job=key), job_context([pod("a")], [job], key=key))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert "TerminateJob" in refusal.text


def test_a_suspension_of_the_user_is_not_undone() -> None:
    job = plain_job(parallelism=1, completions=1, suspend=True)
    assert isinstance(propose_move(move(), job_context([], [job])), Wait)


def rules(**rule: Any) -> KubernetesOptions:
    return checked({"drain": [rule]}, KubernetesOptions)


def test_what_the_rules_let_run_stays_and_that_is_reported() -> None:
    options = rules(leave="after_completion")
    refusal = propose_move(move(), job_context([pod("a")], [JOB], options=options))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert refusal.text == "ml/a stays on n1: the drain rules let it run until it ends"


def test_a_device_that_is_not_known_is_reported() -> None:
    options = rules(device_only=True)
    unknown = pod("a", resources={"nvidia.com/gpu": "1"})
    refusal = propose_move(move(device="GPU-1"), job_context([unknown], [JOB], options=options))
    assert isinstance(refusal, Refusal)
    assert "does not show which device it holds (GPU-1)" in refusal.text


@pytest.mark.parametrize(
    ("since", "off", "kind"),
    [(NOW - 700.0, ("n1",), "delete_pod"), (NOW - 500.0, ("n1",), ""), (NOW - 700.0, (), "")],
)
def test_a_pod_is_deleted_after_its_deadline_and_the_fence_and_never_before(
    since: float, off: tuple[str, ...], kind: str
) -> None:
    options = rules(leave="delete_after", after_s=600)
    ready = "Unknown" if off else "True"
    context = job_context(
        [pod("a")],
        [JOB],
        nodes=[held_node(ready=ready, since=since)],
        off=off,
        proven_dead=bool(off),
        verdicts={"a": (EvictionVerdict.BUDGET, "PDB ml/trainers allows no eviction now")},
        options=options,
    )
    proposal = propose_move(move(), context)
    assert (proposal.kind if isinstance(proposal, Step) else "") == kind


@pytest.mark.parametrize(
    ("off", "after_s", "waits"), [(("n1",), 600, True), ((), 600, False), (("n1",), None, False)]
)
def test_a_deadline_is_waited_for_whatever_a_budget_never_allows(
    off: tuple[str, ...], after_s: int | None, waits: bool
) -> None:
    leaves = {"leave": "delete_after", "after_s": after_s} if after_s else {"leave": "evict"}
    context = job_context(
        [pod("a")],
        [JOB],
        nodes=[held_node(ready="Unknown" if off else "True", since=NOW - 1.0)],
        off=off,
        proven_dead=bool(off),
        verdicts={"a": (EvictionVerdict.NEVER, "PDB ml/trainers never allows an eviction")},
        options=rules(**leaves),
    )
    assert isinstance(propose_move(move(), context), Wait) is waits


def test_an_eviction_that_is_allowed_comes_before_any_deletion() -> None:
    context = job_context(
        [pod("a")],
        [JOB],
        nodes=[held_node(ready="Unknown", since=NOW - 700.0)],
        off=("n1",),
        proven_dead=True,
        options=rules(leave="delete_after", after_s=600),
    )
    proposal = propose_move(move(), context)
    assert isinstance(proposal, Step)
    assert proposal.kind == "evict"


def test_trap_26_pods_of_a_node_that_is_gone_are_the_clusters_to_remove() -> None:
    """The node object was deleted in the drain: its pods go with it, and are waited for."""
    context = job_context([pod("a", node="n1", ending=True)], [JOB], nodes=[node("n9")])
    assert isinstance(propose_move(move(), context), Wait)
    moved = job_context([pod("c", node="n2"), pod("b", node="n3")], [JOB], nodes=[node("n9")])
    assert isinstance(propose_move(move(), moved), Achieved)


def test_trap_26_nothing_is_evicted_from_a_node_that_is_gone() -> None:
    """Its machine may run on: the replacement would stand beside the old copy, and unfenced."""
    gone = propose_move(move(), job_context([pod("a", node="n1")], [JOB], nodes=[node("n9")]))
    assert isinstance(gone, Wait)
    assert gone.text == ("ml/a was on n1, which the cluster has no more: the cluster removes it")
    both = [pod("a", node="n1"), pod("b", node="n2")]
    context = job_context(both, [JOB], nodes=[node("n2")])
    step = propose_move(move(bad_nodes=("n1", "n2")), context)
    assert isinstance(step, Step)
    assert step.arguments["pod"] == "b"


@pytest.mark.parametrize(
    "chain",
    [
        [],
        [plain_job(status={"conditions": [{"type": "Complete", "status": "True"}]})],
    ],
)
def test_a_job_that_is_gone_or_has_ended_is_not_moved(chain: list[Any]) -> None:
    refusal = propose_move(move(), job_context([], chain))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE


def test_a_later_job_of_the_same_name_is_another() -> None:
    later = plain_job(parallelism=1)
    later["metadata"]["creationTimestamp"] = "2026-11-28T12:00:00Z"
    refusal = propose_move(move(), job_context([pod("a")], [later]))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE
