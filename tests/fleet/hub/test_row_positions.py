"""Of whom somebody speaks who knows nodes and devices by names of his own."""

from collections.abc import Iterator

import pytest

from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.location import Location, locate
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

FIRST, SECOND = machines.device(0), machines.device(1)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench("n1:9835", "n2:9835")
    made.report(list(made.targets)[1], machines.view(0), machines.view(1))
    yield made
    made.fleet.close()


def of(bench: Bench, **labels: str) -> Location | None:
    return locate(bench.fleet, labels, Evidence())


WHOLE = Location("n2")
DEVICE = Location("n2", SECOND.id, SECOND.name)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"node": "n2"}, WHOLE),
        ({"instance": "n2:9400"}, WHOLE),
        ({"instance": "n2:9835"}, WHOLE),
        ({"instance": "n2:metrics"}, None),
        ({"node": "n7", "instance": "n2:9400"}, WHOLE),
        ({"node": "n7"}, None),
        ({"node": ""}, None),
        ({}, None),
        ({"node": "n2", "device": SECOND.name}, DEVICE),
        ({"node": "n2", "device": SECOND.id}, DEVICE),
        ({"node": "n2", "gpu": "1"}, DEVICE),
        ({"node": "n2", "gpu": "7"}, WHOLE),
        ({"node": "n2", "gpu": "7", "uuid": str(SECOND.uuid)}, DEVICE),
        ({"node": "n2", "pci_bus_id": f"0000{SECOND.pci_bus_id}"}, DEVICE),
        ({"node": "n1", "gpu": "1"}, Location("n1")),
        ({"uuid": str(SECOND.uuid)}, DEVICE),
        ({"UUID": str(FIRST.uuid)}, Location("n2", FIRST.id, FIRST.name)),
        ({"uuid": str(SECOND.uuid).removeprefix("GPU-").upper()}, DEVICE),
        ({"uuid": "GPU-of-nobody", "device": str(SECOND.uuid)}, DEVICE),
        ({"gpu": "1"}, None),
        ({"device": SECOND.name}, None),
    ],
)
def test_who_is_meant(bench: Bench, labels: dict[str, str], expected: Location | None) -> None:
    assert of(bench, **labels) == expected


def test_the_first_label_that_is_known_counts(bench: Bench) -> None:
    assert of(bench, node="n1", instance="n2:9400") == Location("n1")
    assert of(bench, node="n2", uuid=str(SECOND.uuid), gpu="0") == DEVICE


def test_a_device_without_a_uuid_is_nobody_s_uuid() -> None:
    made = Bench("n1")
    made.report("n1", machines.view(0, device=machines.device(0, uuid=None)))
    assert of(made, uuid="") is None
    assert of(made, uuid="None") is None
    made.fleet.close()
