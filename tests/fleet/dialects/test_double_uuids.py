"""A page on which one uuid is several devices: all stay, by place, marked, with their own numbers."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.dialects.base.doubles import with_doubts
from accelwatch.schema.health import Health
from support.machines import composed as machines

NOW = 1_700_000_000.0
DOUBT = "duplicate uuid GPU-1: 4 devices report it"


def page(*labels: str) -> str:
    """Three families of four GPUs with one uuid; the last has no uuid label, as DCGM's NVLink group."""
    lines = []
    for n in range(4):
        parts = {"gpu": f'gpu="{n}"', "pci": f'pci_bus_id="00000000:0{n}:00.0"'}
        address = ",".join(parts[label] for label in labels)
        lines.append(f'DCGM_FI_DEV_GPU_TEMP{{{address},UUID="GPU-1"}} {40 + n}')
        lines.append(f'DCGM_FI_DEV_POWER_USAGE{{{address},UUID="GPU-1"}} {100 + n}')
        lines.append(f"DCGM_FI_DEV_SM_CLOCK{{{address}}} {1000 + n}")
    lines.append('DCGM_FI_DEV_GPU_TEMP{gpu="4",pci_bus_id="00000000:04:00.0",UUID="GPU-2"} 44')
    return "\n".join(sorted(lines)) + "\n"


@pytest.mark.parametrize("labels", [("gpu", "pci"), ("pci",), ("gpu",)])
def test_all_rows_stay_with_their_own_numbers(labels: tuple[str, ...]) -> None:
    views = read_devices(page(*labels), NOW).devices
    *twins, other = sorted(
        views, key=lambda view: view.reading.values["temperature_celsius", "gpu"]
    )
    assert len(twins) == 4
    for n, view in enumerate(twins):
        assert view.reading.values["temperature_celsius", "gpu"] == 40 + n
        assert view.reading.values["power_watts",] == 100 + n
        assert view.reading.values["clock_hertz", "sm"] == (1000 + n) * 1_000_000
        assert (view.device.uuid, view.device.absent) == (None, {"uuid": Absence.ERROR})
        assert (view.health, view.health_reasons) == (Health.DEGRADED, (DOUBT,))
    assert len({view.device.id for view in twins}) == 4
    assert (other.device.id, other.health) == ("nvidia:GPU-2", Health.OK)


def test_instances_of_one_gpu_are_no_twins() -> None:
    address = 'gpu="0",pci_bus_id="00000000:00:00.0",UUID="GPU-1",GPU_I_PROFILE="1g.10gb"'
    text = "".join(f'DCGM_FI_DEV_FB_USED{{{address},GPU_I_ID="{n}"}} {n}\n' for n in (7, 8))
    views = read_devices(text, NOW).devices
    assert views[0].device.uuid == "GPU-1"
    assert not [reason for view in views for reason in view.health_reasons]


@pytest.mark.parametrize(
    ("before", "after"), [(Health.FAILED, Health.FAILED), (Health.OK, Health.DEGRADED)]
)
def test_such_a_device_is_no_better_than_degraded(before: Health, after: Health) -> None:
    view = machines.view(health=before)
    (doubtful,) = with_doubts([view], {view.device.id: DOUBT})
    assert (doubtful.health, doubtful.health_reasons) == (after, (*view.health_reasons, DOUBT))
