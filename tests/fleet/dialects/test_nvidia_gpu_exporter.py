"""What nvidia_gpu_exporter says of a GPU's condition, over composed scrapes."""

import pytest

from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.absence import Absence
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView

NOW = 1_700_000_100.0
UUID = "5ca1ab1e-0001-4000-8000-000000000000"


def scraped(**families: float) -> DeviceView:
    """The one device of a scrape; families without their prefix."""
    lines = [
        f'nvidia_smi_gpu_info{{uuid="{UUID}",index="0",name="NVIDIA H100"}} 1',
        f'nvidia_smi_utilization_gpu_ratio{{uuid="{UUID}"}} 0.5',
        *(f'nvidia_smi_{name}{{uuid="{UUID}"}} {value}' for name, value in families.items()),
    ]
    (view,) = read_devices("\n".join(lines) + "\n", NOW).devices
    return view


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "gpu_reset"),
        (2, "node_reboot"),
        (3, "drain_p2p"),
        (4, "drain_and_reset"),
        (5, "recover_imex_domain"),
        (6, "bus_reset"),
        (7, "system_reboot"),
        (8, "8"),
    ],
)
def test_every_wish_but_none_is_a_wish(number: int, word: str) -> None:
    view = scraped(gpu_recovery_action=number)
    assert view.reading.values["recovery_action_info", word] == 1
    assert view.reading.values["reset_required",] == 1
    assert view.health is Health.FAILED


def test_no_wish() -> None:
    view = scraped(gpu_recovery_action=0)
    assert view.reading.values["recovery_action_info", "none"] == 1
    assert view.reading.values["reset_required",] == 0
    assert view.health is Health.OK


@pytest.mark.parametrize("number", [-1, 4294967295])
def test_a_number_that_is_no_action_is_an_error(number: int) -> None:
    view = scraped(gpu_recovery_action=number)
    assert view.reading.absent["reset_required",] is Absence.ERROR
    assert view.reading.absent["recovery_action_info",] is Absence.ERROR


def test_sram_beyond_its_limit_is_part_of_health() -> None:
    name = "ecc_errors_uncorrected_aggregate_sram_threshold_exceeded"
    assert scraped(**{name: 0}).health is Health.OK
    view = scraped(**{name: 1})
    assert view.reading.values["sram_error_threshold_exceeded",] == 1
    assert view.health is Health.FAILED
