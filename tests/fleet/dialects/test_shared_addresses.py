"""Two chips behind one PCI function, as on a card with two 310P: both stay, each with its own health."""

import pytest

from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.schema.health import Health

NOW = 1_700_000_000.0
ADDRESS = "0000:81:00.0"
NO_DIE = "00000000-00000000-00000000-00000000-00000000"


def page(dies: tuple[str, str], *, second: str = ADDRESS) -> Foreign:
    lines = []
    for index, (die, address) in enumerate(zip(dies, (ADDRESS, second), strict=True)):
        labels = f'id="{index}",vdie_id="{die}",pcie_bus_info="{address}"'
        lines.append(f"npu_chip_info_temperature{{{labels}}} {41 + index}")
        lines.append(f"npu_chip_info_health_status{{{labels}}} {1 - index}")
    return read_devices("\n".join(lines) + "\n", NOW)


@pytest.mark.parametrize("dies", [("", ""), (NO_DIE, NO_DIE), ("A-1", "A-2")])
def test_both_chips_stay_and_the_failed_one_is_seen(dies: tuple[str, str]) -> None:
    first, second = page(dies).devices
    assert [first.health, second.health] == [Health.OK, Health.FAILED]
    assert first.reading.values["temperature_celsius", "gpu"] == 41
    assert second.reading.values["temperature_celsius", "gpu"] == 42
    assert first.device.id != second.device.id


def test_the_address_stays_with_the_first_chip() -> None:
    first, second = (view.device for view in page(("", "")).devices)
    assert (first.pci_bus_id, second.pci_bus_id) == (ADDRESS, None)
    assert first.id.endswith(f":{ADDRESS}")
    assert second.id.endswith(f":{ADDRESS}-1")
    assert (first.index, second.index) == (0, 1)


@pytest.mark.parametrize("die", ["", NO_DIE])
def test_a_failed_chip_that_has_lost_its_die_id_stays(die: str) -> None:
    first, second = page(("A-1", die)).devices
    assert [first.health, second.health] == [Health.OK, Health.FAILED]
    assert (first.device.id, second.device.id) == ("ascend:A-1", f"ascend:{ADDRESS}-1")
    assert (first.device.pci_bus_id, second.device.pci_bus_id) == (ADDRESS, None)
    assert (first.device.index, second.device.index) == (0, 1)
    assert second.reading.values["temperature_celsius", "gpu"] == 42


@pytest.mark.parametrize("die", ["", NO_DIE])
def test_the_first_chip_stays_when_it_has_lost_its_die_id(die: str) -> None:
    first, second = page((die, "A-2")).devices
    assert [first.health, second.health] == [Health.OK, Health.FAILED]
    assert (first.device.id, second.device.id) == (f"ascend:{ADDRESS}", "ascend:A-2")
    assert (first.device.pci_bus_id, second.device.pci_bus_id) == (ADDRESS, None)
    assert first.reading.values["temperature_celsius", "gpu"] == 41


def test_the_further_chips_of_two_cards_have_ids_of_their_own() -> None:
    other = "0000:c1:00.0"
    chips = [("", ADDRESS), ("", ADDRESS), ("", other), ("", other)]
    lines = [
        f'npu_chip_info_temperature{{id="{at}",vdie_id="{die}",pcie_bus_info="{address}"}} 41'
        for at, (die, address) in enumerate(chips)
    ]
    ids = [view.device.id for view in read_devices("\n".join(lines) + "\n", NOW).devices]
    assert ids == [f"ascend:{name}" for name in (ADDRESS, f"{ADDRESS}-1", other, f"{other}-3")]


def test_chips_behind_functions_of_their_own_keep_them() -> None:
    reported = [view.device.pci_bus_id for view in page(("", ""), second="0000:82:00.0").devices]
    assert reported == [ADDRESS, "0000:82:00.0"]


def test_a_sample_with_a_shared_address_alone_is_about_none_of_them() -> None:
    lines = [
        f'npu_chip_info_temperature{{id="{at}",pcie_bus_info="{ADDRESS}"}} 41' for at in (0, 1)
    ]
    lines.append(f'npu_chip_info_power{{pcie_bus_info="{ADDRESS}"}} 90')
    reported = read_devices("\n".join(lines) + "\n", NOW)
    assert len(reported.devices) == 2
    assert reported.rejected["no_device"] == 1
