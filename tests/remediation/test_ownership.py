"""Whose a node is, for every case that can be seen of one, and what may be done to it then."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.foreign_reasons import BEGINNINGS, Holder, holder_of
from accelwatch.remediation.policy.guards.ownership import (
    Imprint,
    Ownership,
    ownership,
    ownership_text,
)

MARK = OwnerAnnotation(incident="i7", token=3)
REASON = "accelwatch:i7:nvidia.gpu.lost GPU 3 has fallen off the bus"


def seen(**others: Any) -> NodeObservation:
    """A node as it is seen right after we have drained it, with changes."""
    drained: dict[str, Any] = {
        "name": "n1",
        "hold_state": HoldState.OURS,
        "annotation": MARK,
        "reason": REASON,
        "set_by": "watch",
        "set_at": 1000.0,
    }
    return NodeObservation(**{**drained, **others})


KEPT = Imprint(annotation=MARK, reason=REASON, set_by="watch", set_at=1000.0)
OPEN = seen(hold_state=HoldState.OPEN, annotation=None, reason="", set_by="", set_at=None)
BY_ADMIN = seen(
    hold_state=HoldState.FOREIGN, annotation=None, reason="disk", set_by="root", set_at=900.0
)


def test_what_is_kept_of_our_own_mark_can_be_written_down() -> None:
    assert msgspec.json.decode(msgspec.json.encode(KEPT), type=Imprint) == KEPT


@pytest.mark.parametrize(
    ("node", "whose"),
    [
        (OPEN, Ownership.OPEN),
        (seen(hold_state=HoldState.OPEN), Ownership.OPEN),
        (seen(), Ownership.ADOPTED),
        (BY_ADMIN, Ownership.FOREIGN),
        (seen(hold_state=HoldState.FOREIGN), Ownership.FOREIGN),
        (seen(hold_state=HoldState.DOWN), Ownership.DOWN),
        (seen(hold_state=HoldState.MISSING), Ownership.MISSING),
        (seen(hold_state=HoldState.OPEN, maintenance=True), Ownership.MAINTENANCE),
        (seen(hold_state=HoldState.FOREIGN, maintenance=True), Ownership.FOREIGN),
    ],
)
def test_a_node_of_which_nothing_is_written_down(node: NodeObservation, whose: Ownership) -> None:
    assert ownership(node, None) is whose


@pytest.mark.parametrize(
    ("change", "whose"),
    [
        ({}, Ownership.OURS),
        ({"annotation": None}, Ownership.OURS),
        ({"hold_state": HoldState.DOWN}, Ownership.OURS),
        ({"set_at": 1000.9}, Ownership.OURS),
        ({"maintenance": True}, Ownership.OURS),
        ({"reason": "disk"}, Ownership.TAKEN_OVER),
        ({"reason": ""}, Ownership.TAKEN_OVER),
        ({"reason": REASON + " and more"}, Ownership.TAKEN_OVER),
        ({"set_by": "root"}, Ownership.TAKEN_OVER),
        ({"set_at": 1001.0}, Ownership.TAKEN_OVER),
        ({"set_at": 999.0}, Ownership.TAKEN_OVER),
        ({"set_at": None}, Ownership.TAKEN_OVER),
        ({"annotation": OwnerAnnotation(incident="i8", token=3)}, Ownership.TAKEN_OVER),
        ({"annotation": OwnerAnnotation(incident="i7", token=4)}, Ownership.TAKEN_OVER),
        ({"annotation": OwnerAnnotation(incident="i7", token=3, by="other")}, Ownership.TAKEN_OVER),
        ({"hold_state": HoldState.FOREIGN}, Ownership.TAKEN_OVER),
        ({"hold_state": HoldState.OPEN}, Ownership.OVERRIDDEN),
        ({"hold_state": HoldState.MISSING}, Ownership.MISSING),
    ],
)
def test_a_node_that_we_have_drained(change: dict[str, Any], whose: Ownership) -> None:
    assert ownership(seen(**change), KEPT) is whose


def test_a_scheduler_that_reports_no_time_is_held_to_name_and_reason() -> None:
    timeless = msgspec.structs.replace(KEPT, set_at=None)
    assert ownership(seen(set_at=None), timeless) is Ownership.OURS
    assert ownership(seen(), timeless) is Ownership.TAKEN_OVER


@pytest.mark.parametrize(
    ("added", "by", "whose"),
    [
        (" : reboot issued", "slurm", Ownership.OURS),
        (" : reboot issued : reboot complete", "slurm", Ownership.OURS),
        (" : reboot issued : reboot complete", "watch", Ownership.OURS),
        (" : Not responding", "slurm", Ownership.OURS),
        (" : reboot issued : Node unexpectedly rebooted", "slurm", Ownership.OURS),
        (" : reboot issued", "root", Ownership.TAKEN_OVER),
        ("", "slurm", Ownership.TAKEN_OVER),
        (" : reboot issued by me", "slurm", Ownership.TAKEN_OVER),
        (" : checked", "slurm", Ownership.TAKEN_OVER),
    ],
)
def test_what_slurm_itself_adds_at_a_reboot_is_no_takeover(
    added: str, by: str, whose: Ownership
) -> None:
    rebooted = seen(
        hold_state=HoldState.DOWN, annotation=None, reason=REASON + added, set_by=by, set_at=2000.0
    )
    assert ownership(rebooted, KEPT) is whose


def test_an_addition_under_our_own_name_and_time_is_ours() -> None:
    assert ownership(seen(reason=REASON + " : reboot issued"), KEPT) is Ownership.OURS


def test_the_schedulers_user_may_be_another() -> None:
    rebooted = seen(reason=REASON + " : reboot issued", set_by="sched", set_at=2000.0)
    assert ownership(rebooted, KEPT) is Ownership.TAKEN_OVER
    assert ownership(rebooted, KEPT, frozenset({"sched"})) is Ownership.OURS


@pytest.mark.parametrize(
    ("node", "kept", "text"),
    [
        (BY_ADMIN, None, "n1 is held by a person or another program by root: disk"),
        (BY_ADMIN, KEPT, "n1 was taken over from accelwatch by root: disk"),
        (
            seen(hold_state=HoldState.FOREIGN, reason="NHC: check_hw", set_by=""),
            None,
            "n1 is held by a health check: NHC: check_hw",
        ),
        (
            seen(hold_state=HoldState.DOWN, reason="Not responding", set_by="slurm"),
            None,
            "the scheduler has given n1 up by slurm: Not responding",
        ),
        (seen(hold_state=HoldState.MISSING), None, "the scheduler knows no node n1"),
        (seen(hold_state=HoldState.OPEN, maintenance=True), None, "n1 is reserved for maintenance"),
        (seen(), None, f"n1 has our mark, but the journal has no record of it by watch: {REASON}"),
    ],
)
def test_people_are_notified_who_has_it(
    node: NodeObservation, kept: Imprint | None, text: str
) -> None:
    assert ownership_text(node, ownership(node, kept)) == text


@pytest.mark.parametrize(
    ("reason", "by", "holder"),
    [
        ("Kill task failed", "root", Holder.SCHEDULER),
        ("Prolog error", "slurm", Holder.SCHEDULER),
        ("gres/gpu count reported lower than configured (3 < 8)", "slurm", Holder.SCHEDULER),
        ("whatever Slurm 26 says", "slurm", Holder.SCHEDULER),
        ("NHC: check_fs_mount", "root", Holder.HEALTH_TOOL),
        ("[node_problem] gpu", "root", Holder.HEALTH_TOOL),
        ("bad fan, ada", "root", Holder.PERSON),
        ("taint karpenter.sh/disrupted:NoSchedule", "Karpenter", Holder.AUTOSCALER),
        ("taint nvidia.com/gpu-error=fatal:NoSchedule", "NVSentinel", Holder.HEALTH_TOOL),
        ("cordoned", "", Holder.PERSON),
        ("", "slurm", Holder.PERSON),
        ("ask about Kill task failed", "root", Holder.PERSON),
    ],
)
def test_who_holds_a_node_is_known_by_the_prefix_of_the_reason(
    reason: str, by: str, holder: Holder
) -> None:
    assert holder_of(reason, by) is holder
    assert holder.text


def test_no_prefix_hides_another() -> None:
    for prefix in BEGINNINGS:
        assert not [other for other in BEGINNINGS if other != prefix and other.startswith(prefix)]
