"""Which step leads to a node that takes no work, or takes it again."""

import json

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    StartedStep,
    Step,
)
from accelwatch.remediation.execution.operations.ledger import same
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_kubernetes.observed_context import SLURM
from accelwatch_kubernetes.proposals.quarantine import UID, propose_quarantine, propose_release
from accelwatch_kubernetes.recovering import recovered
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.steps import TAINT, UNTAINT
from accelwatch_kubernetes.tables import effects_of
from accelwatch_kubernetes.workloads.kinds.slurm_pods import slurm_text
from actions.kubernetes.test_marks import CORDON, OURS, quarantined
from support.kubernetes.nodes import GPU, OPTIONS, Object, context, intent, node
from support.kubernetes.pods import pod, pod_of

RELEASE = IntentKind.RELEASE


def refusal(proposal: Proposal) -> RefusalKind:
    assert isinstance(proposal, Refusal), proposal
    return proposal.kind


def half_removed() -> Object:
    """A node from which a person has removed the taint, and no more."""
    document = quarantined(node())
    document["spec"].pop("taints")
    return document


def test_a_node_that_takes_work_is_tainted() -> None:
    step = propose_quarantine(intent(), context(node(taints=[GPU])))
    assert isinstance(step, Step)
    assert (step.kind, step.precondition) == (TAINT, {UID: "uid-of-n1"})
    assert step.arguments["incident"] == "inc-1"
    assert json.loads(step.original["taints"]) == [GPU]
    assert step.original["unschedulable"] == "false"


def test_the_step_is_the_same_whatever_a_kubelet_writes_meanwhile() -> None:
    first = propose_quarantine(intent(), context(node(version="7")))
    assert first == propose_quarantine(intent(), context(node(version="8")))


def test_a_node_that_we_hold_is_out() -> None:
    assert isinstance(propose_quarantine(intent(), context(quarantined(node()))), Achieved)


def test_trap_22_the_plan_says_that_slurm_runs_there_and_knows_nothing_of_a_taint() -> None:
    slurmd = [pod_of(pod(f"gpu-{at}", container="slurmd")) for at in range(5)]
    text = slurm_text([*slurmd, pod_of(pod())])
    assert text == (
        "Slurm nodes gpu-0, gpu-1, gpu-2 and 2 more run here as pods: their jobs are Slurm's, and a "
        "taint tells Slurm nothing"
    )
    assert slurm_text(slurmd[:1]).startswith("Slurm node gpu-0 runs here as pods")
    assert slurm_text([pod_of(pod())]) == ""
    open_, ours = context(node()), context(quarantined(node()))
    step = propose_quarantine(intent(), msgspec.structs.replace(open_, own={SLURM: text}))
    assert isinstance(step, Step)
    assert step.text == f"taint n1 with {OURS} ({text})"
    without = propose_quarantine(intent(), open_)
    assert isinstance(without, Step)
    assert same(step, without)
    held = propose_quarantine(intent(), msgspec.structs.replace(ours, own={SLURM: text}))
    assert isinstance(held, Achieved)
    assert held.text.endswith(f"held by us ({text})")


def test_trap_02_a_second_event_finds_the_node_held_and_the_first_ends_only_its_own() -> None:
    shown = context(quarantined(node()))
    second = propose_quarantine(intent(incident="inc-2"), shown)
    assert isinstance(second, Achieved)
    assert "inc-1" in second.text
    assert refusal(propose_release(intent(RELEASE, incident="inc-2"), shown)) is RefusalKind.FOREIGN


def test_trap_01_a_foreign_cordon_is_neither_taken_nor_undone() -> None:
    shown = context(node(cordoned=True))
    assert refusal(propose_quarantine(intent(), shown)) is RefusalKind.FOREIGN
    released = propose_release(intent(RELEASE), shown)
    assert isinstance(released, Achieved)
    assert "cordoned" in released.text


def test_a_foreign_taint_is_neither_taken_nor_undone() -> None:
    shown = context(node(taints=[{"key": OURS, "effect": "NoSchedule"}]))
    assert refusal(propose_quarantine(intent(), shown)) is RefusalKind.FOREIGN
    assert isinstance(propose_release(intent(RELEASE), shown), Achieved)


def test_trap_03_who_removes_our_taint_ends_it() -> None:
    proposal = propose_quarantine(intent(), context(half_removed()))
    assert refusal(proposal) is RefusalKind.OVERRIDDEN
    assert isinstance(proposal, Refusal)
    assert "removed by another person" in proposal.text


def test_trap_03_who_uncordons_ends_it() -> None:
    document = quarantined(node(), CORDON)
    document["spec"].pop("unschedulable")
    proposal = propose_quarantine(intent(), context(document, CORDON))
    assert refusal(proposal) is RefusalKind.OVERRIDDEN
    assert isinstance(propose_release(intent(RELEASE), context(document, CORDON)), Step)


def test_what_a_person_ended_for_one_incident_is_no_bar_to_the_next() -> None:
    assert isinstance(propose_quarantine(intent(incident="inc-2"), context(half_removed())), Step)


def test_trap_10_what_is_left_of_our_marks_is_removed_by_a_release() -> None:
    step = propose_release(intent(RELEASE), context(half_removed()))
    assert isinstance(step, Step)
    assert step.kind == UNTAINT


def test_an_older_engine_changes_no_mark_of_a_newer_one() -> None:
    older = intent(RELEASE, token=2)
    assert refusal(propose_release(older, context(quarantined(node())))) is RefusalKind.FOREIGN
    again = intent(incident="inc-2", token=2)
    assert refusal(propose_quarantine(again, context(half_removed()))) is RefusalKind.FOREIGN


def test_a_newer_engine_releases_what_an_older_one_held() -> None:
    assert isinstance(propose_release(intent(RELEASE, token=4), context(quarantined(node()))), Step)


def test_another_hub_leaves_our_hold_alone() -> None:
    other = KubernetesOptions(hub="hub-b")
    shown = context(quarantined(node()), other)
    refused = propose_quarantine(intent(), shown)
    assert isinstance(refused, Refusal)
    assert (refused.kind, "hub accelwatch" in refused.text) == (RefusalKind.FOREIGN, True)
    assert refusal(propose_release(intent(RELEASE), shown)) is RefusalKind.FOREIGN


@pytest.mark.parametrize("original", [{}, {UID: "uid-of-n1"}])
def test_a_node_that_is_gone_is_held_by_nobody(original: dict[str, str]) -> None:
    assert isinstance(propose_release(intent(RELEASE, original=original), context(None)), Achieved)
    assert refusal(propose_quarantine(intent(), context(None))) is RefusalKind.IMPOSSIBLE


def test_trap_24_a_node_made_again_under_its_name_is_not_released_by_the_old_hold() -> None:
    document = quarantined(node(uid="new"))
    release = intent(RELEASE, original={UID: "uid-of-n1"})
    assert isinstance(propose_release(release, context(document)), Achieved)
    assert isinstance(
        propose_release(intent(RELEASE, original={UID: "new"}), context(document)), Step
    )


def test_a_node_that_is_being_deleted_is_not_taken() -> None:
    assert (
        refusal(propose_quarantine(intent(), context(node(deleting=True)))) is RefusalKind.FOREIGN
    )


def outcome(kind: str, document: Object | None) -> Recovery:
    """What a step of that kind has come to, where nothing was told of it."""
    proposal = (
        propose_quarantine(intent(), context(node()))
        if kind == TAINT
        else propose_release(intent(RELEASE), context(quarantined(node())))
    )
    assert isinstance(proposal, Step)
    started = StartedStep(step=proposal, started=1.0)
    return recovered(started, effects_of(OPTIONS)[kind], context(document))


def test_trap_07_what_a_crash_left_is_known_by_what_stands_on_the_node() -> None:
    held, free = quarantined(node()), node()
    assert outcome(TAINT, held) is Recovery.DONE
    assert outcome(TAINT, half_removed()) is Recovery.DONE, "somebody has ended it since"
    assert outcome(TAINT, free) is Recovery.REDO
    assert outcome(TAINT, None) is Recovery.UNKNOWN
    assert outcome(UNTAINT, held) is Recovery.REDO
    assert outcome(UNTAINT, free) is Recovery.DONE
    assert outcome(UNTAINT, None) is Recovery.DONE
    assert outcome(UNTAINT, quarantined(node(uid="new"))) is Recovery.DONE


def test_a_mark_of_another_incident_is_not_the_one_that_was_set() -> None:
    document = quarantined(node())
    hold = json.loads(document["metadata"]["annotations"][HOLD])
    document["metadata"]["annotations"][HOLD] = json.dumps({**hold, "incident": "inc-2"})
    assert outcome(TAINT, document) is Recovery.REDO
    assert outcome(UNTAINT, document) is Recovery.DONE
