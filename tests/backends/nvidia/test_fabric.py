"""Registration with the NVLink fabric: masks, states and words, over the binding and over documents."""

import pytest

from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_nvidia.quantities import fabric

from .conftest import Rig
from .test_smi_variants import changed


def state_of(reading: Reading) -> str:
    (word,) = [series[1] for series in reading.values if series[0] == "fabric_state_info"]
    return word


def health_of(reading: Reading) -> Health:
    return evaluate_health(DeviceState.OK, reading, (), 0.0).health


@pytest.mark.parametrize(
    ("state", "status", "mask", "summary", "word"),
    [
        (0, 0, 0, 0, None),
        (1, 0, 0, 0, "not_started"),
        (2, 0, 0, 0, "in_progress"),
        (2, 27, 0, 0, "in_progress"),
        (3, 0, 0, 0, "completed"),
        (3, 999, 0, 0, "failed"),
        (3, 999, 0x10, 2, "failed"),
        (3, 0, 0x1AA | 0x5000, 1, "completed"),
        (3, 0, 0x2000, 1, "completed"),
        (3, 0, 0x1, 0, "unhealthy"),
        (3, 0, 0x4, 0, "unhealthy"),
        (3, 0, 0x10, 0, "unhealthy"),
        (3, 0, 0x40, 0, "unhealthy"),
        (3, 0, 0x200, 0, "unhealthy"),
        (3, 0, 0x500, 0, "unhealthy"),
        (3, 0, 0xF00, 0, "unhealthy"),
        (3, 0, 0x8000, 0, "unhealthy"),
        (3, 0, 0, 2, "unhealthy"),
        (3, 0, 0, 9, "unhealthy"),
        (3, 0, 0, 3, "limited_capacity"),
        (3, 0, 0x500, 3, "unhealthy"),
        (9, 0, 0, 0, "9"),
    ],
)
def test_state_from_numbers(
    state: int, status: int, mask: int, summary: int, word: str | None
) -> None:
    assert fabric.from_numbers(state, status, mask, summary).state == word


def test_each_fault_is_named() -> None:
    notes = fabric.from_numbers(3, 0, 0x8510, 3).notes
    assert notes == (
        "fabric: route unhealthy",
        "fabric: incorrect configuration: too few NVLinks",
        "fabric: global fabric manager disconnected",
        "fabric: limited capacity",
    )
    (note,) = fabric.from_numbers(3, 0, 0xF00, 0).notes
    assert note.endswith("incorrect configuration: 15")


@pytest.mark.parametrize(
    ("key", "number", "word", "health"),
    [
        ("fabric_health_mask", 0, "completed", Health.OK),
        ("fabric_health_mask", 0x200, "unhealthy", Health.DEGRADED),
        ("fabric_health_mask", 0x500, "unhealthy", Health.DEGRADED),
        ("fabric_health_mask", 0x8000, "unhealthy", Health.DEGRADED),
        ("fabric_health_summary", 2, "unhealthy", Health.DEGRADED),
        ("fabric_health_summary", 3, "limited_capacity", Health.DEGRADED),
        ("fabric_status", 999, "failed", Health.FAILED),
    ],
)
def test_a_faulty_fabric_is_no_healthy_gpu(
    rig: Rig, key: str, number: int, word: str, health: Health
) -> None:
    with rig.machine(rig.devices(1).set(0, key, number)) as machine:
        (reading,) = machine.read(0)
    assert state_of(reading) == word
    assert health_of(reading) is health
    assert bool(reading.notes) is (health is not Health.OK)


_HEALTH = {
    "summary": "Healthy",
    "bandwidth": "Full",
    "route_recovery_in_progress": "False",
    "route_unhealthy": "False",
    "access_timeout_recovery": "False",
    "incorrect_configuration": "None",
    "partition_assigned": "False",
}


def printed(state: str, status: str, **health: str) -> Reading:
    leaves = "".join(f"<{tag}>{text}</{tag}>" for tag, text in {**_HEALTH, **health}.items())
    element = (
        f"<fabric><state>{state}</state><status>{status}</status><health>{leaves}</health></fabric>"
    )
    return changed(("<fan_speed>", f"{element}<fan_speed>"))


@pytest.mark.parametrize(
    ("tag", "text", "word"),
    [
        ("summary", "N/A", "completed"),
        ("summary", "Unknown Error", "completed"),
        ("summary", "Unhealthy", "unhealthy"),
        ("summary", "Limited Capacity", "limited_capacity"),
        ("bandwidth", "Degraded", "unhealthy"),
        ("route_recovery_in_progress", "True", "unhealthy"),
        ("route_unhealthy", "True", "unhealthy"),
        ("access_timeout_recovery", "True", "unhealthy"),
        ("incorrect_configuration", "N/A", "completed"),
        ("incorrect_configuration", "Incorrect SysGuid", "unhealthy"),
        ("incorrect_configuration", "Insufficient Nvlinks", "unhealthy"),
    ],
)
def test_words_of_the_document_mean_what_the_numbers_mean(tag: str, text: str, word: str) -> None:
    reading = printed("Completed", "Success", **{tag: text})
    assert state_of(reading) == word
    assert (health_of(reading) is Health.OK) is (word == "completed")
    assert bool(reading.notes) is (word != "completed")


def test_how_a_registration_ended_counts_when_it_has_ended() -> None:
    failed = printed("Completed", "Unknown Error")
    assert (state_of(failed), health_of(failed)) == ("failed", Health.FAILED)
    waiting = printed("In Progress", "Not Ready")
    assert (state_of(waiting), health_of(waiting)) == ("in_progress", Health.OK)
