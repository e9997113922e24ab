"""Why something is as it is: the sentence, what it rests on, what to do."""

from collections.abc import Mapping

import msgspec
import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.errors import UnmetError
from accelwatch.fleet.lemons.documents import Blamed, LemonNote
from accelwatch.fleet.picture.model import UTILIZATION, FleetView, RecentHistory
from accelwatch.fleet.picture.why.answer import Answer, answer
from accelwatch.fleet.picture.why.lines import lines_of
from accelwatch.fleet.picture.why.observed_state import (
    ObservedState,
    observed_fleet,
    observed_machine,
    with_node,
)
from accelwatch.fleet.picture.why.subject import Kind, subject_of
from accelwatch.fleet.picture.why.waiting import idle_since, waiting
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import Owner, ReadFailure
from accelwatch.schema.status.verdict import Verdict
from support.dashboards.fleets import Faults, fleet_view
from support.incidents.incident_documents import incident_now, low_power
from support.incidents.incident_samples import incident
from support.machines import composed as machines
from support.machines.composed import NOW

# Has all sixteen devices of n001 and n002.
JOB = "48100"


def answer_to(observed: ObservedState, what: str = "") -> Answer:
    return answer(observed, subject_of(observed, what))


def loaded(view: FleetView, loads: Mapping[int, float | None]) -> FleetView:
    """The fleet with the load of some devices, by slot."""

    def one(now: DeviceNow) -> DeviceNow:
        if now.slot not in loads:
            return now
        values = list(now.values)
        values[UTILIZATION] = loads[now.slot]
        return msgspec.structs.replace(now, values=tuple(values))

    return msgspec.structs.replace(view, devices=[one(now) for now in view.devices])


def fleet(
    faults: Faults | None = None, loads: Mapping[int, float | None] | None = None
) -> ObservedState:
    """Two nodes of one job, busy but for what is said, and two more nodes."""
    busy = dict.fromkeys(range(32), 0.9) | dict(loads or {})
    return observed_fleet(loaded(fleet_view(4, faults=faults), busy))


def test_nothing_wrong_is_shown_with_what_there_is() -> None:
    result = answer_to(fleet())

    assert result.sentence == "nothing is wrong with 32 devices on 4 nodes."
    assert (result.wrong, result.where, result.since, result.others) == (False, "", None, 0)


def test_without_devices_nothing_is_called_well() -> None:
    empty = msgspec.structs.replace(machines.snapshot(), devices=())
    assert answer_to(observed_machine(empty)).sentence == "there is no device."


def unread_machine(*names: str) -> ObservedState:
    backends = tuple(machines.unread(name) for name in names)
    return observed_machine(machines.snapshot(devices=(), backends=backends))


def test_a_machine_that_cannot_read_its_devices_is_not_well() -> None:
    result = answer_to(unread_machine("nvidia", "amd"))

    mismatch = "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
    assert result.sentence == f"n01: no reading through nvidia: {mismatch}; amd: {mismatch}."
    assert (result.wrong, result.where, result.remedy) == (True, "n01", "reboot after the update")
    with pytest.raises(UnmetError, match=f"no device could be read: n01: nvidia: {mismatch}"):
        answer_to(unread_machine("nvidia"), "nvidia3")


def test_a_log_that_may_not_be_read_is_not_what_is_wrong() -> None:
    assert not answer_to(unread_machine("kernel_log", "host")).wrong


def test_a_node_of_a_fleet_that_cannot_read_its_devices_is_not_well() -> None:
    view = fleet_view(4)
    nodes = [
        msgspec.structs.replace(node, why="nvidia: denied") if node.node == "n003" else node
        for node in view.nodes
    ]
    observed = observed_fleet(msgspec.structs.replace(view, nodes=nodes))
    assert answer_to(observed).sentence == "n003: no reading through nvidia: denied."
    assert answer_to(observed, "n003").since is None
    assert not answer_to(observed, "n001").wrong
    own = machines.snapshot(backends=(machines.unread(),))
    assert answer_to(with_node(observed, "n003", own), "n003").remedy == "reboot after the update"


def test_why_a_node_is_silent_is_not_called_unread() -> None:
    view = fleet_view(4, faults={"n003": "down"})
    nodes = [
        msgspec.structs.replace(node, why="refused") if node.node == "n003" else node
        for node in view.nodes
    ]
    observed = observed_fleet(msgspec.structs.replace(view, nodes=nodes))
    assert answer_to(observed).sentence == "n003 has been down for 6 min: refused."


def test_a_node_that_has_never_answered_is_shown_as_such() -> None:
    assert answer_to(fleet({"n003": "never"})).sentence == "n003 has never answered."


def test_who_runs_processes_is_known_on_one_machine_too() -> None:
    """The first device has no owner; the second's job is somebody's, whoever runs its processes."""
    processes = tuple(
        msgspec.structs.replace(one, user=user)
        for one, user in zip(machines.processes("x", 3), ("ann", "bob", "ann"), strict=True)
    )
    views = [machines.view(index, owners=()) for index in range(2)]
    views = [
        msgspec.structs.replace(
            one, reading=msgspec.structs.replace(one.reading, processes=processes)
        )
        for one in views
    ]
    views[1] = msgspec.structs.replace(
        views[1], owners=(Owner(kind="job", job_id="7", user="eve"),)
    )
    observed = observed_machine(machines.snapshot(*views))
    assert [one.user for one in observed.devices] == ["ann+bob", "eve"]
    for user in ("ann", "bob"):
        assert subject_of(observed, user).devices == (observed.devices[0],)
    with pytest.raises(UnmetError, match="users ann, bob, eve"):
        subject_of(observed, "user:nix")


def test_the_worst_is_shown_and_the_others_are_counted() -> None:
    result = answer_to(fleet({"n002/3": "lost", "n001/1!": "degraded", "n003/0!": "failed"}))

    assert result.sentence == "n002/nvidia3 is lost; 2 more things are wrong."
    assert (result.where, result.others) == ("n002/nvidia3", 2)
    assert "reboot" in result.remedy


def test_a_silent_node_is_shown_once_and_not_for_each_of_its_devices() -> None:
    result = answer_to(fleet({"n003": "down"}))

    assert result.sentence == "n003 has been down for 6 min."
    assert result.others == 0


def test_a_job_waits_for_what_is_lost_where_its_devices_stand_idle() -> None:
    idle = {slot: 0.0 for slot in range(16) if slot != 11}
    result = answer_to(fleet({"n002/3": "lost"}, {**idle, 11: None}), JOB)

    assert result.sentence == (
        f"job {JOB} of ada waits for n002/nvidia3, which is lost; 15 of its 16 devices are idle."
    )
    assert (result.kind, result.waiting) == ("job", 15)


def test_how_long_they_have_been_idle_is_shown_where_it_is_known() -> None:
    idle = {slot: 0.0 for slot in range(16) if slot != 11}
    observed = fleet({"n002/3": "lost"}, {**idle, 11: None})
    known = msgspec.structs.replace(observed, idle_since=NOW - 200)

    assert answer_to(known, JOB).sentence.endswith("15 of its 16 devices are idle for 3 min.")
    assert answer_to(known).sentence.endswith("waits for it with 15 idle devices for 3 min.")
    assert len(waiting(observed, subject_of(observed, JOB))) == 15
    assert waiting(fleet(), subject_of(fleet(), JOB)) == []


@pytest.mark.parametrize(
    ("steps", "since"),
    [
        ((0.9, 0.8, 0.0, None, 0.01), NOW - 30),
        ((0.0, 0.0), 0.0),
        ((0.05, 0.04), NOW - 10),
        ((None, 0.9), NOW),
        ((), 0.0),
    ],
)
def test_the_time_at_which_a_load_fell(steps: tuple[float | None, ...], since: float) -> None:
    past = RecentHistory(step_s=10.0, end=NOW, values={"utilization_ratio": steps})

    assert idle_since(past) == since
    assert idle_since(msgspec.structs.replace(past, values={})) == 0.0


def test_a_job_that_works_on_without_a_device_is_not_shown_as_waiting() -> None:
    result = answer_to(fleet({"n002/3": "lost"}, {11: None}), JOB)

    assert result.sentence == f"job {JOB} of ada is still running, but n002/nvidia3 is lost."
    assert result.waiting == 0


def test_a_job_of_which_half_has_work_is_not_shown_as_waiting() -> None:
    idle = dict.fromkeys(range(7), 0.0) | {11: None}
    assert answer_to(fleet({"n002/3": "lost"}, idle), JOB).waiting == 0
    assert answer_to(fleet({"n002/3": "lost"}, idle | {7: 0.0}), JOB).waiting == 8


def test_what_is_only_degraded_does_not_stop_a_job() -> None:
    idle = dict.fromkeys(range(16), 0.0)
    result = answer_to(fleet({"n002/3!": "degraded"}, idle), JOB)

    assert result.sentence == f"job {JOB} of ada stands still, but n002/nvidia3 is degraded."


def test_an_idle_job_on_sound_devices_is_sent_to_look_at_itself() -> None:
    result = answer_to(fleet(None, dict.fromkeys(range(16), 0.0)), f"job:{JOB}")

    assert result.sentence.startswith(f"job {JOB} of ada has 16 devices, and all are idle;")
    assert not result.wrong


def test_another_jobs_trouble_is_not_this_ones() -> None:
    result = answer_to(fleet({"n003/0": "lost"}), JOB)

    assert result.sentence == f"nothing is wrong with job {JOB} of ada: 16 devices, load 90%."


def test_a_lost_device_shows_which_job_waits_for_it() -> None:
    idle = {slot: 0.0 for slot in range(16) if slot != 11}
    result = answer_to(fleet({"n002/3": "lost"}, {**idle, 11: None}), "n002/nvidia3")

    assert result.sentence == (
        f"n002/nvidia3 is lost; job {JOB} waits for it with 15 idle devices."
    )


def test_a_nodes_own_document_shows_since_when_and_on_what_it_rests() -> None:
    view = fleet_view(1, faults={"n001/3": "lost"})
    slot = next(one for one in view.slots if one and one.index == 3)
    lost = machines.lost_view(3)
    device = msgspec.structs.replace(lost.device, id=slot.id)
    lost = msgspec.structs.replace(lost, device=device, state_since=NOW - 18)
    failure = ReadFailure(backend="nvidia", device_id=slot.id, message="NVML_ERROR_GPU_IS_LOST")
    snapshot = machines.snapshot(lost, errors=(failure,))
    result = answer_to(with_node(observed_fleet(view), "n001", snapshot), "n001/3")

    assert result.sentence == "n001/nvidia3 has been lost for 18 s: NVML_ERROR_GPU_IS_LOST."
    assert result.since == "2027-01-15T07:59:42.000Z"


def test_why_a_node_is_silent_stands_behind_its_state() -> None:
    observed = fleet({"n003": "down"})
    known = with_node(
        observed, "n003", machines.snapshot(), silent="n003 is down: no route", remedy="look at it"
    )
    result = answer_to(known, "n003")

    assert result.sentence == "n003 has been down for 6 min: no route."
    assert result.remedy == "look at it"


def test_what_a_rule_has_found_is_shown_in_its_words() -> None:
    view = msgspec.structs.replace(fleet_view(2), incidents=(low_power(),))
    result = answer_to(observed_fleet(loaded(view, dict.fromkeys(range(16), 0.9))), "n002/3")

    assert result.sentence == (
        "n002/nvidia3: Draws far less power than its job's other GPUs, for 7 min."
    )
    assert result.remedy == "look at cooling and clocks; the job waits for its slowest GPU"
    assert result.evidence[1] == "throttle_active.thermal_hardware is set"
    assert result.incident == "i7"


def test_evidence_that_another_line_contains_is_shown_once() -> None:
    view = msgspec.structs.replace(fleet_view(2, faults={"n002/3": "lost"}))
    observed = observed_fleet(view)
    slot = next(one for one in observed.devices if one.state == "lost")
    known = Verdict(summary="fell off the bus", evidence="set")
    devices = [
        msgspec.structs.replace(one, verdict=known) if one is slot else one
        for one in observed.devices
    ]
    observed = msgspec.structs.replace(observed, devices=devices, incidents=(low_power().incident,))

    evidence = answer_to(observed, "n002/3").evidence
    assert "throttle_active.thermal_hardware is set" in evidence
    assert "fell off the bus" in evidence
    assert "set" not in evidence


def test_a_device_with_an_incident_is_one_trouble() -> None:
    view = fleet_view(2, faults={"n002/3": "lost"})
    view = msgspec.structs.replace(view, incidents=(low_power(),))
    result = answer_to(observed_fleet(view))

    assert result.sentence.startswith("n002/nvidia3 has been lost for 7 min: Draws far less power")
    assert result.others == 0


@pytest.mark.parametrize("below", [{"group_incident": "i1"}, {"follows": "i1"}])
def test_what_stands_below_another_incident_is_shown_only_where_it_is_queried(
    below: dict[str, str],
) -> None:
    lower = msgspec.structs.replace(low_power().incident, **below)
    remedies = (msgspec.structs.replace(low_power(), incident=lower),)
    view = msgspec.structs.replace(fleet_view(2), incidents=remedies)
    observed = observed_fleet(loaded(view, dict.fromkeys(range(16), 0.9)))

    assert not answer_to(observed).wrong
    assert answer_to(observed, "n002/3").incident == "i7"


def test_an_incident_that_is_over_is_nobodys_reason() -> None:
    closed = msgspec.structs.replace(low_power().incident, state="closed")
    over = msgspec.structs.replace(low_power(), incident=closed)
    view = msgspec.structs.replace(fleet_view(2), incidents=(over,))

    assert not answer_to(observed_fleet(view)).wrong


def test_what_the_hub_does_is_shown() -> None:
    view = fleet_view(2, faults={"n002/3": "lost"})
    result = answer_to(observed_fleet(view, {"n002": "draining: its jobs leave"}))

    assert result.step == "draining: its jobs leave"


def test_a_machine_of_its_own_shows_reasons_and_low_clocks() -> None:
    hot = machines.view(0)
    values = {
        **hot.reading.values,
        ("throttle_active", "thermal_hardware"): 1,
        ("throttle_active", "idle"): 1,
        ("throttle_active", "power"): 0,
    }
    reading = msgspec.structs.replace(hot.reading, values=values)
    sick = machines.view(
        1,
        state=DeviceState.DEGRADED,
        health=Health.DEGRADED,
        health_reasons=("the fabric is unhealthy", "xid 94"),
        state_since=NOW - 300,
    )
    observed = observed_machine(
        machines.snapshot(msgspec.structs.replace(hot, reading=reading), sick)
    )

    assert answer_to(observed, "0").sentence.endswith(
        "its clocks are reduced by: thermal hardware."
    )
    result = answer_to(observed, "1")
    assert result.sentence.endswith("has been degraded for 5 min: the fabric is unhealthy.")
    assert result.evidence == ("xid 94",)


def test_a_bare_number_is_a_device_of_one_machine_and_a_job_of_many() -> None:
    machine = observed_machine(machines.snapshot(machines.view(0), machines.view(1)))
    assert subject_of(machine, "1").kind is Kind.DEVICE
    assert subject_of(fleet(), JOB).kind is Kind.JOB
    with pytest.raises(UnmetError, match="nothing is called '3' here; there are devices n001/"):
        subject_of(fleet(), "3")


@pytest.mark.parametrize(
    "what", ["n001/nvidia3", "n001/3", "device:n001/3", "GPU-000003", "gpu-000003"]
)
def test_a_device_is_found_by(what: str) -> None:
    assert subject_of(fleet(), what).name == "n001/nvidia3"


def test_a_name_that_several_devices_have_is_refused_with_the_candidates() -> None:
    with pytest.raises(
        UnmetError, match="'nvidia3' means 4 devices; say which: n001/nvidia3, n002"
    ):
        subject_of(fleet(), "nvidia3")


def test_three_letters_of_a_uuid_are_too_few() -> None:
    with pytest.raises(UnmetError):
        subject_of(fleet(), "GPU-000")


def test_a_user_has_the_devices_of_all_his_jobs() -> None:
    result = answer_to(fleet({"n001/2": "lost"}, {2: None}), "ada")

    assert result.sentence == "jobs of ada are still running, but n001/nvidia2 is lost."


def test_whose_job_it_is_is_shown_where_only_the_scheduler_knows() -> None:
    one = incident_now(
        incident(3, node="n009", title="Does not answer"), jobs=("777",), users=("zoe",)
    )
    observed = fleet()
    observed = msgspec.structs.replace(observed, incidents=(one.incident,))
    assert answer_to(observed, "777").sentence.startswith(
        "job 777 of zoe is still running, but n009"
    )
    both = msgspec.structs.replace(one.incident, jobs=("777", "778"), users=("zoe", "ada"))
    observed = msgspec.structs.replace(observed, incidents=(both,))
    assert answer_to(observed, "777").sentence.startswith("job 777 is still running, but n009")


def test_a_job_of_which_only_an_incident_knows_can_be_queried() -> None:
    one = incident_now(incident(3, node="", title="Stands still"), job="777", nodes=(), node="")
    view = msgspec.structs.replace(fleet_view(1), incidents=(one,))
    result = answer_to(observed_fleet(view), "777")

    assert "Stands still" in result.sentence


def differing(faults: Faults | None = None) -> ObservedState:
    """The fleet with a node that differs from the others."""
    observed = fleet(faults)
    text = "driver 550.2 (3 of 4 nodes have 570.1)"
    nodes = {**observed.nodes, "n002": msgspec.structs.replace(observed.nodes["n002"], odd=text)}
    return msgspec.structs.replace(observed, nodes=nodes)


@pytest.mark.parametrize("what", ["n002", "n002/nvidia1"])
def test_in_what_a_node_differs_is_a_line_below_and_nothing_wrong(what: str) -> None:
    result = answer_to(differing(), what)
    assert result.sentence.startswith("nothing is wrong with n002")
    assert not result.wrong
    assert result.differs == "driver 550.2 (3 of 4 nodes have 570.1)"
    assert lines_of(result, 100)[-1] == "  differs:    driver 550.2 (3 of 4 nodes have 570.1)"


@pytest.mark.parametrize("what", ["n001", "n001/nvidia1", "", JOB])
def test_of_others_it_is_not_shown(what: str) -> None:
    result = answer_to(differing(), what)
    assert result.differs == ""
    assert not any("differs" in line for line in lines_of(result, 100))


def test_what_is_wrong_comes_before_it() -> None:
    result = answer_to(differing({"n002/3": "lost"}), "n002")
    assert result.sentence.startswith("n002/nvidia3 is lost")
    assert lines_of(result, 100)[-1].startswith("  differs:")


RECORD = "nvidia3: 3 confirmed faults in 28 days, the last on 2026-11-20"


def repeating(faults: Faults | None = None) -> ObservedState:
    """The fleet with a node whose hardware has failed again and again."""
    view = fleet_view(4, faults=faults)
    note = LemonNote(
        blamed=Blamed.DEVICE,
        device="nvidia3",
        faults=3,
        score=2.4,
        last="2026-11-20T03:12:00.000Z",
    )
    nodes = [
        msgspec.structs.replace(node, lemon=note if node.node == "n002" else None)
        for node in view.nodes
    ]
    return observed_fleet(msgspec.structs.replace(view, nodes=nodes))


@pytest.mark.parametrize("what", ["n002", "n002/nvidia1"])
def test_how_often_hardware_has_failed_is_a_line_below_and_nothing_wrong(what: str) -> None:
    result = answer_to(repeating(), what)
    assert not result.wrong
    assert result.record == RECORD
    assert lines_of(result, 100)[-1] == f"  record:     {RECORD}"


def test_hardware_that_fails_again_has_its_record_below_the_fault() -> None:
    result = answer_to(repeating({"n002/3": "lost"}), "n002")
    assert result.sentence.startswith("n002/nvidia3 is lost")
    assert lines_of(result, 100)[-1] == f"  record:     {RECORD}"


def test_other_nodes_and_the_fleet_have_no_record() -> None:
    for what in ("n001", "n001/nvidia1", ""):
        assert answer_to(repeating(), what).record == ""


def test_what_an_incident_says_of_it_is_not_shown_twice() -> None:
    observed = differing()
    found = incident(
        title=f"A node differs from most nodes like it: {observed.nodes['n002'].odd}",
        node="n002",
        entity=Entity(scope=Scope.NODE, node="n002"),
    )
    result = answer_to(
        msgspec.structs.replace(observed, incidents=(incident_now(found).incident,)), "n002"
    )
    assert observed.nodes["n002"].odd in result.sentence
    assert result.differs == ""


@pytest.mark.parametrize(
    ("interval_s", "sample_time", "state", "stands"),
    [
        (1.0, NOW - 40, DeviceState.LOST, "has been lost for 30 s"),
        (1.0, None, DeviceState.LOST, "is lost"),
        (1.0, None, DeviceState.UNRESPONSIVE, "is hung"),
        (1.0, None, DeviceState.DEGRADED, "is failed"),
        (1.0, NOW - 40, DeviceState.DEGRADED, "has been failed for 30 s"),
        (None, NOW - 40, DeviceState.LOST, "is lost"),
    ],
)
def test_how_long_is_shown_only_where_the_start_was_observed(
    interval_s: float | None, sample_time: float | None, state: DeviceState, stands: str
) -> None:
    view = machines.view(
        1, state=state, state_since=NOW - 30, sample_time=sample_time, health=Health.FAILED
    )
    observed = observed_machine(machines.snapshot(view, interval_s=interval_s))
    assert f"nvidia1 {stands}" in answer_to(observed, "1").sentence


@pytest.mark.parametrize(
    ("state", "state_since"), [(DeviceState.DEGRADED, 0.0), (DeviceState.OK, NOW - 30)]
)
@pytest.mark.parametrize("health", [Health.DEGRADED, Health.FAILED])
def test_of_an_unhealthy_device_that_answers_no_duration_is_made_up(
    state: DeviceState, state_since: float, health: Health
) -> None:
    view = machines.view(1, state=state, state_since=state_since, health=health)
    observed = observed_machine(machines.snapshot(view, interval_s=1.0))
    assert f"nvidia1 is {health}" in answer_to(observed, "1").sentence
