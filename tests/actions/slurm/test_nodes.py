"""Nodes of a real Slurm: drained, released, taken over by people, fenced, rebooted, tested."""

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import Achieved, Refusal, RefusalKind
from accelwatch.remediation.policy.guards.ownership import Ownership, ownership
from support.actions.pursuits import pursue
from support.slurm.action_on_cluster import Hand, imprint_of
from support.slurm.lab_cluster import WorkingSlurm, until

Hands = Callable[..., Hand]


def shown(hand: Hand, node: str) -> NodeObservation:
    return {one.name: one for one in asyncio.run(hand.action.observe_all())}[node]


def seen(hand: Hand, node: str) -> HoldState:
    return shown(hand, node).hold_state


def test_a_node_is_drained_and_released_and_the_fields_of_others_are_kept(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    slurm.scontrol("update", "node=n1", 'extra={"rack":"r7"}')
    one = hand()
    drained = one.pursue(IntentKind.QUARANTINE, "n1")
    assert drained.kinds == ["drain"]
    assert isinstance(drained.ending, Achieved)
    line = slurm.node("n1")
    assert "State=IDLE+DRAIN" in line
    assert "Reason=accelwatch:inc-1:nvidia.gpu.lost GPU 3 has fallen off the bus [" in line
    assert '"rack":"r7"' in line
    (node,) = (node for node in asyncio.run(one.action.observe_all()) if node.name == "n1")
    assert (node.hold_state, node.annotation) == (HoldState.OURS, OwnerAnnotation("inc-1", 1))
    again = one.pursue(IntentKind.QUARANTINE, "n1", incident="inc-2")
    assert (again.kinds, isinstance(again.ending, Achieved)) == ([], True)
    wrong = one.pursue(IntentKind.RELEASE, "n1", incident="inc-2")
    assert isinstance(wrong.ending, Refusal)
    held = {"set_by": node.set_by, "set_at": str(node.set_at)}
    released = one.pursue(IntentKind.RELEASE, "n1", original=held)
    assert released.kinds == ["undrain"]
    assert 'Extra={"rack":"r7"}' in slurm.node("n1")
    assert "DRAIN" not in slurm.node("n1")
    assert "accelwatch" not in slurm.node("n1")


def test_what_an_administrator_has_drained_is_never_touched(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    slurm.scontrol("update", "node=n1", "state=drain", "reason=fan broken")
    before = slurm.node("n1")
    for kind in (IntentKind.QUARANTINE, IntentKind.RELEASE, IntentKind.FENCE, IntentKind.REBOOT):
        ending = hand().pursue(kind, "n1").ending
        assert isinstance(ending, Refusal), kind
        assert ending.kind is RefusalKind.FOREIGN
        assert "fan broken" in ending.text
    after = slurm.node("n1")
    assert after.partition("Reason=")[2] == before.partition("Reason=")[2]


def test_a_node_that_is_down_is_not_drained(slurm: WorkingSlurm, hand: Hands) -> None:
    slurm.scontrol("update", "node=n1", "state=down", "reason=board swap")
    assert isinstance(hand().pursue(IntentKind.QUARANTINE, "n1").ending, Refusal)
    assert "board swap" in slurm.node("n1")


def test_an_administrator_who_takes_the_reason_over_has_the_node(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1")
    slurm.scontrol("update", "node=n1", "state=drain", "reason=mine now")
    ending = one.pursue(IntentKind.RELEASE, "n1").ending
    assert isinstance(ending, Refusal)
    assert ending.kind is RefusalKind.FOREIGN
    assert seen(one, "n1") is HoldState.FOREIGN
    assert "DRAIN" in slurm.node("n1")


def test_a_node_that_somebody_resumed_is_not_drained_again_for_the_same(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1")
    slurm.scontrol("update", "node=n1", "state=resume")
    ending = one.pursue(IntentKind.QUARANTINE, "n1").ending
    assert isinstance(ending, Refusal)
    assert ending.kind is RefusalKind.OVERRIDDEN
    assert "DRAIN" not in slurm.node("n1")
    cleaned = one.pursue(IntentKind.RELEASE, "n1")
    assert cleaned.kinds == ["unmark"]
    assert "accelwatch" not in slurm.node("n1")


def test_a_reason_of_ours_on_a_node_that_takes_work_is_no_hold_and_is_taken_away(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1", incident="inc-0")
    slurm.scontrol("update", "node=n1", "state=resume", "extra={}")
    kept = "accelwatch" in slurm.node("n1")  # 24.11 does
    assert (seen(one, "n1"), shown(one, "n1").annotation) == (HoldState.OPEN, None)
    cleaned = one.pursue(IntentKind.RELEASE, "n1")
    assert (cleaned.kinds, isinstance(cleaned.ending, Achieved)) == (["unmark"] * kept, True)
    assert "accelwatch" not in slurm.node("n1")
    assert one.pursue(IntentKind.QUARANTINE, "n1").kinds == ["drain"]
    assert shown(one, "n1").annotation == OwnerAnnotation("inc-1", 1)


def test_a_reason_that_was_set_anew_is_not_ours_to_take_away(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1")
    other = one.pursue(IntentKind.RELEASE, "n1", original={"set_by": "operator"})
    later = one.pursue(IntentKind.RELEASE, "n1", original={"set_at": "1000"})
    for ending in (other.ending, later.ending):
        assert isinstance(ending, Refusal)
        assert ending.kind is RefusalKind.FOREIGN
    assert "DRAIN" in slurm.node("n1")


def test_what_is_reserved_for_maintenance_is_somebody_elses(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    made = ("create", "reservation", "users=root", "duration=60", "starttime=now")
    slurm.scontrol(*made, "ReservationName=bios", "nodes=n2", "flags=maint,ignore_jobs")
    one = hand()
    assert seen(one, "n2") is HoldState.FOREIGN
    assert isinstance(one.pursue(IntentKind.QUARANTINE, "n2").ending, Refusal)
    assert "DRAIN" not in slurm.node("n2")


def test_unknown_nodes_and_names_that_mean_many_are_refused(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    for name in ("nope", "ALL", "n[1-5]", "n1,n2", "-n1", ""):
        ending = hand().pursue(IntentKind.QUARANTINE, name).ending
        assert isinstance(ending, Refusal), name
        assert ending.kind is RefusalKind.IMPOSSIBLE
    assert all("DRAIN" not in slurm.node(f"n{number}") for number in range(1, 6))


def test_a_node_is_tested_while_nobody_else_can_use_it(slurm: WorkingSlurm, hand: Hands) -> None:
    # The scheduler remembers what others have asked for; nobody else asked at these moments.
    one = hand(tests={"well": ["/bin/true"], "sick": ["/bin/false"]})
    early = one.pursue(IntentKind.TEST, "n1", test="well")
    assert isinstance(early.ending, Refusal)
    assert early.ending.kind is RefusalKind.UNSAFE
    one.pursue(IntentKind.QUARANTINE, "n1")
    passed = one.pursue(IntentKind.TEST, "n1", test="well", asked=11.0, twice=True)
    assert passed.kinds == ["reserve", "undrain", "run_test", "drain", "delete_reservation"]
    assert isinstance(passed.ending, Achieved)
    failed = one.pursue(IntentKind.TEST, "n1", test="sick", asked=12.0)
    assert isinstance(failed.ending, Refusal)
    assert failed.ending.text == "sick on n1: failed, exit code 1:0"
    assert "DRAIN" in slurm.node("n1")
    assert "accelwatch-verify" not in slurm.scontrol("show", "reservations")
    assert isinstance(one.pursue(IntentKind.RELEASE, "n1").ending, Achieved)


def test_a_spare_is_drawn_and_returned(slurm: WorkingSlurm, hand: Hands) -> None:
    made = ("create", "reservation", "users=root", "duration=infinite", "starttime=now")
    slurm.scontrol(*made, "ReservationName=spares", "nodes=n4,n5", "flags=ignore_jobs")
    one = hand(spares="spares")
    for node in ("n4", "n5"):
        assert one.pursue(IntentKind.DRAW_SPARE, "n1", spare=node).kinds == ["draw"]
        assert node not in slurm.scontrol("-o", "show", "reservations").partition("NodeCnt")[0]
    assert one.pursue(IntentKind.DRAW_SPARE, "n1", spare="n4").kinds == []
    for node in ("n4", "n5"):
        assert one.pursue(IntentKind.RETURN_SPARE, "n1", spare=node).kinds == ["return"]
    assert "Nodes=n[4-5]" in slurm.scontrol("-o", "show", "reservation", "spares")


def test_a_reboot_is_seen_by_its_boot_time_and_the_node_stays_ours(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    assert isinstance(one.pursue(IntentKind.REBOOT, "n1").ending, Refusal)
    one.pursue(IntentKind.QUARANTINE, "n1")
    imprint = imprint_of(shown(one, "n1"))

    def boot() -> None:
        until(lambda: "REBOOT_ISSUED" in slurm.node("n1"), "the reboot is issued")
        os.kill(slurm.pid("slurmd.n1"), signal.SIGKILL)
        slurm.start_node("n1", booted=True)

    with ThreadPoolExecutor(1) as pool:
        booted = pool.submit(boot)
        rebooted = one.pursue(IntentKind.REBOOT, "n1", within_s=60.0)
        booted.result()
    assert rebooted.kinds == ["reboot"]
    assert isinstance(rebooted.ending, Achieved)
    assert " State=DOWN " in slurm.node("n1")
    assert seen(one, "n1") is HoldState.OURS
    assert ownership(shown(one, "n1"), imprint) is Ownership.OURS
    assert one.pursue(IntentKind.REBOOT, "n1").kinds == []
    assert one.pursue(IntentKind.RELEASE, "n1").kinds == ["resume"]


def test_a_mark_in_the_comment_or_none_at_all(slurm: WorkingSlurm, hand: Hands) -> None:
    for field, kept in (("comment", True), ("none", False)):
        one = hand(mark=field)
        assert one.pursue(IntentKind.QUARANTINE, "n1").kinds == ["drain"]
        assert ('"accelwatch"' in slurm.node("n1")) is kept
        assert one.pursue(IntentKind.RELEASE, "n1").kinds == ["undrain"]
        until(lambda: "DRAIN" not in slurm.node("n1"), "released")
        assert "accelwatch" not in slurm.node("n1")


def test_an_idle_spare_is_tested_without_being_drained(
    slurm: WorkingSlurm, hand: Callable[..., Hand]
) -> None:
    made = ("create", "reservation", "users=root", "starttime=now", "duration=infinite")
    slurm.scontrol(*made, "ReservationName=spares", "nodes=n4,n5", "flags=ignore_jobs")
    one = hand(spares="spares", tests={"well": ["/bin/true"], "sick": ["/bin/false"]})
    way = ["reserve", "run_test", "delete_reservation"]
    passed = one.pursue(IntentKind.TEST, "n4", spare="n4", test="well", asked=21.0)
    assert (passed.kinds, isinstance(passed.ending, Achieved)) == (way, True)
    failed = one.pursue(IntentKind.TEST, "n4", spare="n4", test="sick", asked=22.0)
    assert failed.kinds == way
    assert isinstance(failed.ending, Refusal)
    assert (failed.ending.kind, "exit code 1:0" in failed.ending.text) == (RefusalKind.UNFIT, True)
    slurm.scontrol("update", "node=n5", "state=drain", "reason=disk")
    theirs = one.pursue(IntentKind.TEST, "n5", spare="n5", test="well", asked=23.0)
    assert isinstance(theirs.ending, Refusal)
    assert (theirs.kinds, theirs.ending.kind) == ([], RefusalKind.FOREIGN)
    assert "Reason=disk" in slurm.node("n5")


def test_a_quarantine_by_hand_shows_who_and_why(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    wanted = one.intent(IntentKind.QUARANTINE, "n1", "by-hand")
    wanted = msgspec.structs.replace(wanted, rule="", reason="by ana: swap the riser")
    assert isinstance(asyncio.run(pursue(one.action, wanted)).ending, Achieved)
    assert "Reason=accelwatch:by-hand: by ana: swap the riser [" in slurm.node("n1")
    assert seen(one, "n1") is HoldState.OURS
