"""The Doctor screen of a node of a fleet that is not heard: what is wrong, since when, what to do."""

import msgspec
import pytest

from accelwatch.fleet.documents.fleet import FaultNote, TargetNote
from accelwatch.fleet.follow.failures.faults import Reason
from accelwatch.fleet.hub_client import aging
from accelwatch.fleet.hub_client.aging import silenced
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.fleet.node_view import NodeStatus
from accelwatch.tui.views import doctor_lines
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, on
from support.dashboards.local import lost, node, texts
from support.machines.composed import NOW


def target(fault: FaultNote | None = None, address: str = "n003:9400") -> TargetNote:
    return TargetNote(
        address=address,
        mode="",
        dialect="",
        version="",
        connected=False,
        failures_total=0,
        missed_ticks_total=0,
        restarts_total=0,
        fault=fault,
    )


def failing(reason: str, message: str = "it said no", address: str = "n003:9400") -> TargetNote:
    return target(FaultNote(reason=reason, message=message), address)


REFUSED = failing("connect", "cannot connect: connection refused")
DOWN = NodeStatus(node="n003", state="down", age_s=340.0)


def shown(shot: Snapshot, status: NodeStatus | None) -> str:
    return texts(doctor_lines.lines(shot, 100, UNICODE, status))


def silent(shot: Snapshot | None, *targets: TargetNote, state: str = "down") -> Snapshot:
    trouble, remedy = aging.explain("n003", state, targets)
    return silenced(shot, "n003", trouble, NOW + 340, 340.0, remedy=remedy)


def test_a_node_that_is_down_is_shown_first_with_the_reason_and_what_to_do() -> None:
    text = shown(silent(node(8), REFUSED), DOWN)
    first = text.splitlines()[0]
    assert "✕ n003 is down, last answered 6 min ago" in first
    assert "n003 is down: cannot connect: connection refused" in text
    assert "see that the node is on" in text
    assert "its 8 devices are stale: no current data" in text
    assert text.index("last answered 6 min") < text.index("Its last known state")


def test_the_same_reason_is_not_shown_for_each_device() -> None:
    text = shown(silent(node(8, d3=lost(3)), REFUSED), DOWN)
    assert text.count("connection refused") == 1
    assert "Devices that are not well" in text
    assert "nvidia3" in text
    assert "nvidia4" not in text


def test_a_node_that_never_answered_says_so() -> None:
    status = NodeStatus(node="n003", state="never", age_s=None)
    text = shown(silent(None, REFUSED, state="never"), status)
    assert "n003 has never answered" in text.splitlines()[0]
    assert "see that the node is on" in text
    assert "Its last known state" not in text


def test_a_node_that_answers_is_shown_as_before() -> None:
    shot = node(2)
    status = msgspec.structs.replace(DOWN, state="up", age_s=0.4)
    assert shown(shot, status) == shown(shot, None)


def test_a_hub_that_has_fallen_silent_makes_the_node_stale() -> None:
    text = shown(node(2), NodeStatus(node="n001", state="stale", age_s=20.0))
    assert "n001 is stale, last answered 20 s ago" in text
    assert "the hub can reach it" in text


@pytest.mark.parametrize(
    "reason", ["dns", "connect", "tls", "timeout", "credentials", "closed", ""]
)
def test_every_reason_has_a_remedy(reason: str) -> None:
    trouble, remedy = aging.explain("n1", "down", (target(), failing(reason)))
    assert trouble == "n1 is down: it said no"
    assert remedy


@pytest.mark.parametrize("reason", [*Reason, ""])
def test_what_is_to_be_done_about_a_host_is_not_about_an_agent(reason: str) -> None:
    by_ssh = failing(reason, address="ssh://ops@n1")
    trouble, remedy = aging.explain("n1", "never", (by_ssh,))
    assert trouble == "n1 is never: it said no"
    assert remedy
    assert "agent runs" not in remedy
    assert "token" not in remedy


def test_a_node_without_a_known_fault_has_a_remedy_too() -> None:
    assert aging.explain("n1", "stale", (target(),))[0] == "n1 is stale"
    assert aging.explain("n1", "stale", ())[1]


def test_the_doctor_key_on_a_node_that_is_down_shows_it() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("6")
        stage.app.pull()
        await stage.pilot.pause()
        assert stage.screen_name == "doctor"
        assert "n003 is down" in stage.text()
        assert "see that the node is on" in stage.text()

    on(check, source=FedFleet(fleet_view(faults=FAULTS), silent(node(8), REFUSED)))


def backend(name: str, state: BackendState) -> BackendStatus:
    return BackendStatus(name=name, vendor=name, state=state, message=f"{name} says so")


def test_what_is_broken_stands_before_what_is_used_and_what_is_not_here_is_one_line() -> None:
    states = [
        backend("accel", BackendState.ABSENT),
        backend("amd", BackendState.OK),
        backend("intel", BackendState.FAILED),
        backend("nvidia", BackendState.UNAVAILABLE),
        backend("tpu", BackendState.ABSENT),
    ]
    text = shown(msgspec.structs.replace(node(8, d3=lost(3)), backends=tuple(states)), None)
    positions = [text.index(part) for part in ("nvidia3", "intel says", "nvidia says", "amd says")]
    assert positions == sorted(positions)
    (line,) = (line for line in text.splitlines() if "not here" in line)
    assert "accel, tpu (details: accelwatch doctor --all)" in line
    assert "accel says so" not in text
