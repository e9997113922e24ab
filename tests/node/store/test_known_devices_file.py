"""A device that is lost or hangs when a process begins: who it is, from where it was before."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.clock import SystemClock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.stores import store_for
from accelwatch.node.store.persistence.identities import CachedIdentity, IdentityCache
from accelwatch.node.store.persistence.identity_file import IdentityFile
from accelwatch.node.store.reports import Identified, Slots
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from node.store.reporting import Node, device, power

PCI = "0000:0b:00.0"
FILE = "known_devices.json"


_started: list[Node] = []


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """No thread that writes outlives its test."""
    yield
    while _started:
        _started.pop().store.close()


def found(number: int = 5, **more: Any) -> Device:
    """As NVML lists it, whether it answers or not."""
    return device(number, id=f"nvidia:{number}", **more)


def identity(number: int = 5, uuid: str | None = None, **more: Any) -> Device:
    """As it says itself who it is."""
    uuid = uuid or f"GPU-{number}"
    return device(number, id=f"nvidia:{uuid}", uuid=uuid, **more)


def part(whole: Device) -> Device:
    name = f"{whole.name}-gi1-ci0"
    return device(0, id="nvidia:MIG-1", uuid="MIG-1", name=name, parent_id=whole.id)


def started(folder: Path, *devices: Device) -> Node:
    """A process that keeps what it knows in the folder, and has found these."""
    node = Node(identity_file=IdentityFile(folder))
    _started.append(node)
    node.slots(*devices)
    return node


def ended(node: Node) -> None:
    node.store.close()


def ran(folder: Path, *devices: Device) -> None:
    """A process in which one device told who it is, and that has ended."""
    slot = found(devices[0].index, pci_bus_id=devices[0].pci_bus_id)
    node = started(folder, slot)
    node.identified(slot.id, *devices)
    ended(node)


def states(node: Node) -> dict[str, DeviceState]:
    return {name: view.state for name, view in node.views().items()}


def test_a_device_lost_at_a_restart_is_who_it_was(tmp_path: Path) -> None:
    ran(tmp_path, identity(model="H100", pci_bus_id=PCI))
    node = started(tmp_path, found())
    node.failed("nvidia:5", Absence.LOST)
    assert states(node) == {"nvidia:GPU-5": DeviceState.LOST}
    one = node.view("nvidia:GPU-5").device
    assert (one.uuid, one.model, one.pci_bus_id) == ("GPU-5", "H100", PCI)


def test_a_device_that_hangs_at_a_restart_is_who_it_was_from_the_first(tmp_path: Path) -> None:
    ran(tmp_path, identity())
    assert list(started(tmp_path, found()).views()) == ["nvidia:GPU-5"]


def test_looking_again_changes_nothing(tmp_path: Path) -> None:
    ran(tmp_path, identity())
    node = started(tmp_path, found())
    node.failed("nvidia:5", Absence.LOST)
    node.slots(found())
    node.cycle()
    node.cycle()
    assert states(node) == {"nvidia:GPU-5": DeviceState.LOST}


def test_it_comes_back_with_the_same_uuid_as_the_same_row(tmp_path: Path) -> None:
    ran(tmp_path, identity())
    node = started(tmp_path, found())
    node.failed("nvidia:5", Absence.LOST)
    node.identified("nvidia:5", identity())
    node.read("nvidia:5", power("nvidia:GPU-5"))
    assert states(node) == {"nvidia:GPU-5": DeviceState.OK}


def test_a_device_that_was_exchanged_is_itself_as_soon_as_it_is_identified(tmp_path: Path) -> None:
    ran(tmp_path, identity())
    node = started(tmp_path, found())
    node.failed("nvidia:5", Absence.LOST)
    node.identified("nvidia:5", identity(uuid="GPU-new"))
    node.read("nvidia:5", power("nvidia:GPU-new"))
    node.cycle()
    node.cycle()
    assert states(node) == {"nvidia:GPU-new": DeviceState.OK}
    ended(node)
    assert list(started(tmp_path, found()).views()) == ["nvidia:GPU-new"]


def test_one_that_was_taken_for_another_gives_the_name_back(tmp_path: Path) -> None:
    ran(tmp_path, identity(), part(identity()))
    node = started(tmp_path, found(4), found())
    node.identified("nvidia:4", identity(4, uuid="GPU-5"))
    assert [*node.views()] == ["nvidia:GPU-5", "nvidia:5"]
    node.failed("nvidia:5", Absence.LOST)
    node.read("nvidia:4", power("nvidia:GPU-5"))
    assert states(node) == {"nvidia:GPU-5": DeviceState.OK, "nvidia:5": DeviceState.LOST}


def test_nobody_is_taken_for_one_that_is_elsewhere(tmp_path: Path) -> None:
    ran(tmp_path, identity())
    node = started(tmp_path, found(4))
    node.identified("nvidia:4", identity(4, uuid="GPU-5"))
    node.slots(found(4), found())
    assert [*node.views()] == ["nvidia:GPU-5", "nvidia:5"]


def test_one_that_was_found_no_more_is_found_under_its_name() -> None:
    node = Node()
    node.slots(found())
    node.identified("nvidia:5", identity())
    node.slots()
    node.cycle()
    node.cycle()
    node.slots(found())
    node.failed("nvidia:5", Absence.LOST)
    assert [*node.views()] == ["nvidia:GPU-5"]


def test_one_that_is_found_in_another_way_is_found_under_its_name() -> None:
    node = Node()
    node.slots(found())
    node.identified("nvidia:5", identity())
    node.slots(device(5, id=f"nvidia:{PCI}", pci_bus_id=PCI))
    node.cycle()
    node.cycle()
    assert [*node.views()] == ["nvidia:GPU-5"]


def test_two_that_are_lost_one_after_the_other_stay_when_one_comes_back(tmp_path: Path) -> None:
    for number in (4, 5):
        ran(tmp_path, identity(number))
    node = started(tmp_path, found(4), found(5))
    node.slots()
    node.cycle()
    node.cycle()
    node.slots(found(6))
    node.identified("nvidia:6", identity(6, uuid="GPU-5"))
    assert sorted(node.views()) == ["nvidia:GPU-4", "nvidia:GPU-5"]


def test_its_partitions_are_known_too(tmp_path: Path) -> None:
    ran(tmp_path, identity(), part(identity()))
    node = started(tmp_path, found())
    node.failed("nvidia:5", Absence.LOST)
    assert states(node) == {"nvidia:GPU-5": DeviceState.LOST, "nvidia:MIG-1": DeviceState.LOST}
    node.identified("nvidia:5", identity())
    assert [*node.views()] == ["nvidia:GPU-5"]


def test_the_name_and_the_driver_are_those_of_now(tmp_path: Path) -> None:
    before = identity(pci_bus_id=PCI, driver_version="570")
    ran(tmp_path, before, part(before))
    node = started(tmp_path, found(3, pci_bus_id=PCI, driver_version="580"))
    views = node.views()
    assert [view.device.name for view in views.values()] == ["nvidia3", "nvidia3-gi1-ci0"]
    whole = views["nvidia:GPU-5"].device
    assert (whole.index, whole.driver_version) == (3, "580")
    again = started(tmp_path, found(3, pci_bus_id=PCI)).view("nvidia:GPU-5").device
    assert again.driver_version == "570"


@pytest.mark.parametrize(
    "before",
    [
        device(5, id=f"nvidia:{PCI}", pci_bus_id=PCI),
        identity(6),
        identity(pci_bus_id="0000:0c:00.0"),
    ],
    ids=["never told a uuid", "another name", "another address"],
)
def test_who_was_never_seen_there_stays_as_found(tmp_path: Path, before: Device) -> None:
    ran(tmp_path, before)
    node = started(tmp_path, found(pci_bus_id=PCI if before.pci_bus_id else None))
    assert [*node.views()] == ["nvidia:5"]


def test_an_address_counts_for_more_than_a_name() -> None:
    known = IdentityCache([CachedIdentity("nvidia", (identity(4, pci_bus_id=PCI),))])
    (one,) = known.devices_at("nvidia", found(5, pci_bus_id=PCI))
    assert (one.id, one.name) == ("nvidia:GPU-4", "nvidia5")


@pytest.mark.parametrize("says", [{"uuid": "GPU-9"}, {"serial": "9"}])
def test_the_identity_that_a_device_reports_is_believed(says: dict[str, Any]) -> None:
    known = IdentityCache([CachedIdentity("nvidia", (identity(),))])
    assert known.devices_at("nvidia", found(**says)) == ()


def test_backends_know_their_own_devices_only() -> None:
    known = IdentityCache([CachedIdentity("nvidia", (identity(),))])
    assert known.devices_at("jetson", found()) == ()


def after(*identities: Device) -> tuple[list[str], int]:
    """Who is known after devices told who they are, and how often that was another."""
    kept: list[tuple[CachedIdentity, ...]] = []
    known = IdentityCache(keep=kept.append)
    for one in identities:
        known.store("nvidia", (one,))
    return [one.devices[0].id for one in (kept or [()])[-1]], len(kept)


@pytest.mark.parametrize(
    ("identities", "ids", "changes"),
    [
        ([identity(), identity()], ["nvidia:GPU-5"], 1),
        ([identity(4), identity(5)], ["nvidia:GPU-4", "nvidia:GPU-5"], 2),
        ([identity(4, "GPU-5"), identity(5)], ["nvidia:GPU-5"], 2),
        ([identity(5, "GPU-a"), identity(5, "GPU-b")], ["nvidia:GPU-b"], 2),
        ([identity(5, pci_bus_id="a"), identity(5, "GPU-b", pci_bus_id="b")], ["nvidia:GPU-b"], 2),
        ([identity(4, pci_bus_id="a"), identity(5, pci_bus_id="a")], ["nvidia:GPU-5"], 2),
        ([device(5, id="n", serial="9")], ["n"], 1),
        ([found()], [], 0),
        ([identity(kind=DeviceKind.HOST)], [], 0),
    ],
)
def test_a_slot_has_one_device_and_a_device_one_slot(
    identities: Iterable[Device], ids: list[str], changes: int
) -> None:
    assert after(*identities) == (ids, changes)


def test_the_same_slot_of_another_backend_is_another_slot() -> None:
    kept: list[tuple[CachedIdentity, ...]] = []
    known = IdentityCache([CachedIdentity("jetson", (identity(),))], kept.append)
    known.store("nvidia", (identity(),))
    assert [one.backend for one in kept[-1]] == ["jetson", "nvidia"]


def test_slots_are_kept_up_to_a_bound() -> None:
    ids, _ = after(*(identity(number) for number in range(1100)))
    assert (len(ids), ids[-1]) == (1024, "nvidia:GPU-1099")


@pytest.mark.parametrize(
    "content", [b"{", b'{"format":9,"devices":[]}', b'{"format":1,"devices":[{"backend":7}]}']
)
def test_a_damaged_file_is_set_aside(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert [*started(tmp_path, found()).views()] == ["nvidia:5"]
    assert (tmp_path / f"{FILE}.damaged").read_bytes() == content
    assert "devices that were lost before are not known" in caplog.text


def test_an_entry_without_a_device_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"format":1,"devices":[{"backend":"nvidia","devices":[]}]}')
    assert IdentityFile(tmp_path).load() == ()


@pytest.mark.parametrize(("one_shot", "kept"), [(False, True), (True, False)])
def test_who_goes_on_keeps_devices_and_a_single_reading_does_not(
    tmp_path: Path, one_shot: bool, kept: bool
) -> None:
    settings = CollectSettings(one_shot=one_shot, state_dir=str(tmp_path))
    store = store_for(settings, SystemClock())
    store.apply(Slots(backend="nvidia", devices=(found(),)))
    store.apply(Identified(backend="nvidia", slot="nvidia:5", devices=(identity(),)))
    store.close()
    assert (tmp_path / FILE).exists() is kept


def test_without_a_state_directory_nothing_is_written() -> None:
    store = store_for(CollectSettings(), SystemClock())
    store.apply(Slots(backend="nvidia", devices=(found(),)))
    store.apply(Identified(backend="nvidia", slot="nvidia:5", devices=(identity(),)))
    store.close()
    assert [view.device.id for view in store.snapshot().devices] == ["nvidia:GPU-5"]
