"""What we write on a node, and by what we know it again."""

import json
from typing import Any

import pytest

from accelwatch.action.observed import HoldState
from accelwatch.remediation.policy.guards.foreign_reasons import NAMES
from accelwatch_kubernetes.marks.foreign import HOLDERS
from accelwatch_kubernetes.marks.hold import DRAWN, HOLD, Hold, hold_of, label_value
from accelwatch_kubernetes.marks.hold_state import hold_state_of, observed_node, override_text
from accelwatch_kubernetes.marks.patches import hold_patch, new_hold, release_patch
from accelwatch_kubernetes.settings.options import KubernetesOptions
from support.kubernetes.nodes import GPU, NOW, OPTIONS, Object, node, parsed, stored

CORDON = KubernetesOptions(cordon=True)
OURS = "accelwatch.io/quarantine"
CORDON_TAINT = {
    "key": "node.kubernetes.io/unschedulable",
    "effect": "NoSchedule",
    "timeAdded": "2026-11-28T10:00:05Z",
}


def hold_for(
    document: Object, options: KubernetesOptions = OPTIONS, incident: str = "inc-1"
) -> Hold:
    return new_hold(
        parsed(document),
        options,
        incident=incident,
        token=3,
        since=NOW,
        rule="nvidia.gpu.lost",
        reason="Xid 79 on GPU 3",
    )


def quarantined(document: Object, options: KubernetesOptions = OPTIONS) -> Object:
    """The node after our patch."""
    return stored(document, hold_patch(parsed(document), hold_for(document, options), options))


def released(document: Object) -> Object:
    """The node after our release."""
    there = parsed(document)
    hold = hold_of(there)
    assert hold is not None
    return stored(document, release_patch(there, hold), version="9")


def without_version(document: Object) -> Object:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": ""}}


def state(document: Object, options: KubernetesOptions = OPTIONS) -> HoldState:
    return hold_state_of(parsed(document), options)


def test_one_patch_has_the_taint_the_annotation_and_the_version() -> None:
    document = node(taints=[GPU])
    patch: Any = hold_patch(parsed(document), hold_for(document), OPTIONS)
    assert patch["metadata"]["resourceVersion"] == "7"
    taint = {"key": OURS, "value": "nvidia.gpu.lost", "effect": "NoSchedule"}
    assert patch["spec"] == {"taints": [GPU, taint]}
    written = json.loads(patch["metadata"]["annotations"][HOLD])
    assert written == {
        "incident": "inc-1",
        "token": 3,
        "by": "accelwatch",
        "since": NOW,
        "rule": "nvidia.gpu.lost",
        "reason": "Xid 79 on GPU 3",
        "uid": "uid-of-n1",
        "taint": OURS,
        "effect": "NoSchedule",
        "cordoned_by_us": False,
        "before": {"unschedulable": False, "taints": [GPU]},
    }


def test_trap_14_taints_of_others_are_sent_back_as_they_were_read() -> None:
    theirs = {
        "key": "example.com/x",
        "effect": "PreferNoSchedule",
        "timeAdded": "2026-01-01T00:00:00Z",
    }
    after = quarantined(node(taints=[GPU, theirs]))
    assert after["spec"]["taints"][:2] == [GPU, theirs]
    assert released(after)["spec"]["taints"] == [GPU, theirs]


@pytest.mark.parametrize("options", [OPTIONS, CORDON, KubernetesOptions(no_execute=True)])
def test_trap_25_the_time_of_our_taint_is_the_servers(options: KubernetesOptions) -> None:
    (taint,) = quarantined(node(), options)["spec"]["taints"]
    assert "timeAdded" not in taint


@pytest.mark.parametrize("options", [OPTIONS, CORDON, KubernetesOptions(no_execute=True)])
@pytest.mark.parametrize("taints", [[], [GPU]])
def test_a_release_restores_what_was_there(
    options: KubernetesOptions, taints: list[dict[str, str]]
) -> None:
    before = node(taints=taints, annotations={"a": "b"})
    assert without_version(released(quarantined(before, options))) == without_version(before)


def test_a_release_keeps_what_others_added_meanwhile() -> None:
    during = quarantined(node(taints=[GPU]))
    during["spec"]["taints"].append({"key": "example.com/new", "effect": "NoSchedule"})
    during["spec"]["unschedulable"] = True
    during["metadata"]["labels"]["new"] = "yes"
    after = released(during)
    assert [taint["key"] for taint in after["spec"]["taints"]] == [
        "nvidia.com/gpu",
        "example.com/new",
    ]
    assert after["spec"]["unschedulable"] is True
    assert after["metadata"]["labels"]["new"] == "yes"
    assert state(after) is HoldState.FOREIGN


def test_a_taint_of_our_key_with_another_effect_is_somebody_elses() -> None:
    wish = {"key": OURS, "effect": "PreferNoSchedule", "value": "soon"}
    during = quarantined(node(taints=[wish]))
    assert during["spec"]["taints"][0] == wish
    theirs = {"key": OURS, "effect": "NoExecute", "value": "person"}
    during["spec"]["taints"].append(theirs)
    assert state(during) is HoldState.OURS
    after = released(during)
    assert after["spec"]["taints"] == [wish, theirs]
    assert state(after) is HoldState.FOREIGN


@pytest.mark.parametrize("effect", ["NoExecute", "PreferNoSchedule"])
def test_a_taint_whose_effect_a_webhook_has_changed_goes_with_the_release(effect: str) -> None:
    during = quarantined(node(taints=[GPU]))
    during["spec"]["taints"][1]["effect"] = effect
    assert released(during)["spec"]["taints"] == [GPU]


def test_a_hold_that_notes_no_effect_is_released_whole() -> None:
    """As hubs before this one have set it, and their options may have changed since."""
    during = quarantined(node(taints=[GPU]), KubernetesOptions(no_execute=True))
    note = json.loads(during["metadata"]["annotations"][HOLD])
    del note["effect"]
    during["metadata"]["annotations"][HOLD] = json.dumps(note)
    assert state(during) is HoldState.OURS
    assert released(during)["spec"]["taints"] == [GPU]


def test_trap_01_a_cordon_that_was_there_before_stays() -> None:
    """It is not ours to hold; and where it came meanwhile, a release does not end it."""
    assert state(node(cordoned=True)) is HoldState.FOREIGN
    late = quarantined(node())
    late["spec"]["unschedulable"] = True
    assert state(late) is HoldState.OURS
    assert released(late)["spec"]["unschedulable"] is True


def test_our_own_cordon_goes_with_its_taint() -> None:
    during = quarantined(node(), CORDON)
    assert during["spec"]["unschedulable"] is True
    during["spec"]["taints"].append(CORDON_TAINT)
    assert state(during, CORDON) is HoldState.OURS
    assert "taints" not in released(during)["spec"]
    assert "unschedulable" not in released(during)["spec"]


@pytest.mark.parametrize(
    "taint",
    [
        {"key": "nvidia.com/gpu-error", "value": "fatal", "effect": "NoSchedule"},
        {"key": "amd-gpu-unhealthy", "effect": "NoSchedule"},
        {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"},
        {"key": "medik8s.io/drain", "effect": "NoSchedule"},
        # Another controller, or a person, with our own key.
        {"key": OURS, "effect": "NoSchedule"},
    ],
)
def test_a_node_that_another_tool_holds_is_foreign(taint: dict[str, str]) -> None:
    assert state(node(taints=[taint])) is HoldState.FOREIGN
    assert state(node(taints=[{**taint, "effect": "PreferNoSchedule"}])) is HoldState.OPEN


def test_whoever_is_known_by_a_taint_is_known_to_the_engine() -> None:
    assert set(HOLDERS.values()) <= set(NAMES)


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/memory-pressure",
        "accelwatch.io/spare",
        "karpenter.sh/nodepool",
        "medik8s.io",
    ],
)
def test_a_node_for_some_work_or_in_want_is_held_by_nobody(key: str) -> None:
    assert state(node(taints=[{"key": key, "effect": "NoSchedule"}])) is HoldState.OPEN


def test_the_list_of_others_is_added_to() -> None:
    options = KubernetesOptions(foreign_taints=["example.com/", "y.org/bad"])
    for key, expected in (
        ("example.com/bad", HoldState.FOREIGN),
        ("example.comx/bad", HoldState.OPEN),
        ("y.org/bad", HoldState.FOREIGN),
        ("y.org/badly", HoldState.OPEN),
    ):
        assert state(node(taints=[{"key": key, "effect": "NoSchedule"}]), options) is expected


def test_a_node_that_is_being_deleted_is_given_up_by_the_cluster() -> None:
    assert state({**quarantined(node(deleting=True))}) is HoldState.DOWN


def test_trap_10_an_annotation_alone_holds_nothing() -> None:
    half = quarantined(node())
    half["spec"].pop("taints")
    assert state(half) is HoldState.OPEN
    assert override_text(parsed(half), hold_for(node())) == f"the taint {OURS} of n1 was removed"


def test_trap_10_a_taint_alone_is_nobodys_that_we_know() -> None:
    half = quarantined(node())
    half["metadata"]["annotations"].pop(HOLD)
    assert state(half) is HoldState.FOREIGN


def test_a_cordon_of_ours_holds_on_without_the_taint_until_it_is_taken_off() -> None:
    half = quarantined(node(), CORDON)
    half["spec"]["taints"] = [CORDON_TAINT]
    assert state(half, CORDON) is HoldState.OURS
    assert state(released(half), CORDON) is HoldState.OPEN


def test_an_annotation_of_another_object_is_nobodys() -> None:
    """A backup has brought it back to a node that was made anew."""
    again = quarantined(node())
    again["metadata"]["uid"] = "another"
    assert hold_of(parsed(again)) is None
    assert state(again) is HoldState.FOREIGN  # for the taint came back with it


@pytest.mark.parametrize("text", ["", "{", "[]", '{"incident": 1}', "null"])
def test_an_annotation_that_does_not_read_is_nobodys(text: str) -> None:
    assert hold_of(parsed(node(annotations={HOLD: text, DRAWN: text}))) is None


def test_two_hubs_on_one_cluster_distinguish_their_marks() -> None:
    other = KubernetesOptions(hub="hub-b")
    document = quarantined(node())
    seen = observed_node(parsed(document), other)
    assert (seen.hold_state, seen.set_by, seen.annotation) == (
        HoldState.FOREIGN,
        "accelwatch",
        None,
    )
    document["spec"].pop("taints")
    assert state(document, other) is HoldState.OPEN


def test_a_hold_is_known_after_the_options_name_another_taint() -> None:
    other = KubernetesOptions(taint="example.com/out")
    document = quarantined(node())
    assert state(document, other) is HoldState.OURS
    assert "taints" not in released(document)["spec"]


def test_what_is_seen_of_a_node() -> None:
    options = KubernetesOptions(pool_label="pool")
    seen = observed_node(parsed(quarantined(node(labels={"pool": "h100"}))), options)
    assert (seen.name, seen.address, seen.answering) == ("n1", "n1.example", True)
    assert (seen.boot_id, seen.system_uuid, seen.pools) == (
        "boot-of-n1",
        "machine-of-n1",
        ("h100",),
    )
    assert (seen.reason, seen.set_by, seen.set_at) == ("Xid 79 on GPU 3", "accelwatch", NOW)
    assert seen.annotation is not None
    assert (seen.annotation.incident, seen.annotation.token) == ("inc-1", 3)


def test_trap_03_what_is_undone_of_a_hold_is_seen() -> None:
    document = quarantined(node(), CORDON)
    assert observed_node(parsed(document), CORDON).undone == ""
    document["spec"].pop("unschedulable")
    assert observed_node(parsed(document), CORDON).undone == "n1 was uncordoned"
    half = quarantined(node(), CORDON)
    half["spec"].pop("taints")
    assert observed_node(parsed(half), CORDON).undone == f"the taint {OURS} of n1 was removed"
    half["spec"].pop("unschedulable")
    freed = observed_node(parsed(half), CORDON)
    assert (freed.hold_state, freed.undone) == (HoldState.OPEN, "")


def test_a_node_is_distinguished_from_a_later_one_of_its_name() -> None:
    assert observed_node(parsed(node(uid="a")), OPTIONS).incarnation == "a"


@pytest.mark.parametrize(
    ("ready", "answering"), [("True", True), ("False", False), ("Unknown", False)]
)
def test_a_node_answers_while_it_is_ready(ready: str, answering: bool) -> None:
    assert observed_node(parsed(node(ready=ready)), OPTIONS).answering is answering


def test_who_holds_a_node_is_reported() -> None:
    cordoned = observed_node(
        parsed(node(cordoned=True, labels={"k8saas.nvidia.com/cordon-by": "NVSentinel"})), OPTIONS
    )
    assert (cordoned.reason, cordoned.set_by) == ("cordoned", "NVSentinel")
    taint = {"key": "karpenter.sh/disrupted", "value": "x", "effect": "NoSchedule"}
    tainted = observed_node(parsed(node(taints=[taint])), OPTIONS)
    assert tainted.reason == "taint karpenter.sh/disrupted=x:NoSchedule"
    assert tainted.set_by == "Karpenter"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nvidia.gpu.lost", "nvidia.gpu.lost"),
        ("a b/ü", "a_b"),
        ("-._", ""),
        ("", ""),
        ("x" * 70, "x" * 63),
        ("x" * 62 + ".y", "x" * 62),
    ],
)
def test_a_rule_becomes_the_value_of_a_label(text: str, value: str) -> None:
    assert label_value(text) == value


@pytest.mark.parametrize("options", [OPTIONS, CORDON])
@pytest.mark.parametrize("cordoned_meanwhile", [False, True])
def test_trap_26_no_release_cordons_and_no_quarantine_uncordons(
    options: KubernetesOptions, cordoned_meanwhile: bool
) -> None:
    document = node()
    taking: Any = hold_patch(parsed(document), hold_for(document, options), options)
    assert taking["spec"].get("unschedulable", True) is True
    during = quarantined(document, options)
    during["spec"]["unschedulable"] = cordoned_meanwhile
    there = parsed(during)
    hold = hold_of(there)
    assert hold is not None
    giving: Any = release_patch(there, hold)
    assert giving["spec"].get("unschedulable") is None
