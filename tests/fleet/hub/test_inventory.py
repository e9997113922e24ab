"""What is expected, on the disk: what is written comes back, and what could not be is not forgotten."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.listing import Listing
from accelwatch.fleet.state.inventory.file import (
    FILE,
    VERSION,
    Changes,
    DamagedError,
    Expected,
    InventoryError,
    InventoryFile,
)
from accelwatch.schema.device import Device
from support.machines import composed as machines

DEVICES = [machines.device(index) for index in range(4)]
LISTING = Listing(exporter="dcgm-exporter", vendor="nvidia", claimed_only=True)


def expected(first: float = 1.0, acknowledged: float | None = None) -> Expected:
    return Expected(first_seen=first, last_seen=first + 1, acknowledged=acknowledged)


def added(node: str, *devices: Device) -> list[tuple[str, Device, float]]:
    return [(node, device, 3.0) for device in devices]


def loaded(file: InventoryFile) -> dict[str, list[int]]:
    return {
        name: sorted(device.index for device in node.devices.values())
        for name, node in file.load().items()
    }


@pytest.mark.parametrize(
    ("changes", "any_change"),
    [
        (Changes(), False),
        (Changes(updated={"a": expected()}), True),
        (Changes(added=added("a", DEVICES[0])), True),
        (Changes(removed=[("a", "x")]), True),
        (Changes(forgotten=["a"]), True),
    ],
)
def test_there_is_something_to_write(changes: Changes, any_change: bool) -> None:
    assert bool(changes) is any_change


def test_what_is_to_be_removed_is_not_added() -> None:
    changes = Changes(
        added=[*added("a", *DEVICES[:2]), *added("b", DEVICES[0])],
        removed=[("a", DEVICES[0].id)],
    )
    changes.drop_removed()
    assert [(node, device.index) for node, device, _ in changes.added] == [("a", 1), ("b", 0)]
    assert changes.removed == [("a", DEVICES[0].id)]


def test_what_could_not_be_written_is_written_with_what_came_after() -> None:
    before = Changes(
        updated={"a": expected(1.0), "b": expected(2.0), "c": expected(3.0)},
        added=[*added("a", *DEVICES[:2]), *added("c", DEVICES[2])],
        removed=[("b", DEVICES[3].id)],
        forgotten=["d"],
    )
    later = Changes(
        updated={"b": expected(9.0)},
        added=added("b", DEVICES[3]),
        removed=[("a", DEVICES[0].id)],
        forgotten=["c"],
    )
    both = before.before(later)
    assert both == Changes(
        updated={"a": expected(1.0), "b": expected(9.0)},
        added=[*added("a", DEVICES[1]), *added("b", DEVICES[3])],
        removed=[("b", DEVICES[3].id), ("a", DEVICES[0].id)],
        forgotten=["d", "c"],
    )


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    file = InventoryFile(tmp_path)
    nodes = {"a": expected(1.0), "b": expected(5.0, acknowledged=7.0), "c": expected()}
    devices = [*added("a", *DEVICES[:2]), *added("b", DEVICES[2]), *added("c", DEVICES[3])]
    file.write(Changes(updated=nodes, added=devices))
    file.write(Changes(removed=[("a", DEVICES[0].id), ("b", DEVICES[0].id)], forgotten=["c"]))
    file.close()
    again = InventoryFile(tmp_path)
    assert loaded(again) == {"a": [1], "b": [2]}
    found = again.load()
    assert (found["a"].first_seen, found["a"].last_seen, found["a"].acknowledged) == (
        1.0,
        2.0,
        None,
    )
    assert (found["b"].first_seen, found["b"].last_seen, found["b"].acknowledged) == (5.0, 6.0, 7.0)
    assert found["a"].devices == {DEVICES[1].id: DEVICES[1]}
    again.write(Changes(updated={"a": expected(4.0)}, added=added("a", DEVICES[1])))
    assert loaded(again)["a"] == [1]
    assert again.load()["a"].first_seen == 4.0
    again.write(Changes(updated={"c": expected()}))
    assert loaded(again)["c"] == []
    again.close()


def _of(vendor: str, parent_id: str | None = None) -> Device:
    return msgspec.structs.replace(
        DEVICES[0], id=f"{vendor}:core0", vendor=vendor, parent_id=parent_id
    )


@pytest.mark.parametrize(
    ("old", "new"), [("aws", "neuron"), ("huawei", "ascend"), ("google", "tpu")]
)
def test_a_device_is_expected_under_the_name_that_its_vendor_has_now(
    old: str, new: str, tmp_path: Path
) -> None:
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": expected()}, added=added("a", _of(old, f"{old}:chip0"))))
    file.close()
    again = InventoryFile(tmp_path)
    assert again.load()["a"].devices == {f"{new}:core0": _of(new, f"{new}:chip0")}
    again.write(Changes(removed=[("a", f"{new}:core0")]))
    again.close()
    last = InventoryFile(tmp_path)
    assert last.load()["a"].devices == {}
    last.close()


@pytest.mark.parametrize("vendor", ["neuron", "aws"])
def test_a_core_that_was_a_device_to_an_older_version_is_not_expected(
    vendor: str, tmp_path: Path
) -> None:
    core, chip = (
        msgspec.structs.replace(DEVICES[0], id=f"{vendor}:{name}", vendor=vendor, name=name)
        for name in ("neuroncore3", "neuron0")
    )
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": expected()}, added=added("a", core, chip)))
    file.close()
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("PRAGMA user_version=1")
    other.close()
    again = InventoryFile(tmp_path)
    assert set(again.load()["a"].devices) == {"neuron:neuron0"}
    again.close()


def test_a_core_that_is_a_device_today_stays_expected(tmp_path: Path) -> None:
    core = msgspec.structs.replace(_of("neuron"), id="neuron:neuroncore3", name="neuroncore3")
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": expected()}, added=added("a", core)))
    file.close()
    again = InventoryFile(tmp_path)
    assert again.load()["a"].devices == {core.id: core}
    again.close()


@pytest.mark.parametrize("order", [("aws", "neuron"), ("neuron", "aws")])
def test_what_was_written_under_the_name_of_today_is_kept(
    order: tuple[str, str], tmp_path: Path
) -> None:
    file = InventoryFile(tmp_path)
    newer = msgspec.structs.replace(_of("neuron"), model="Trainium2")
    file.write(
        Changes(
            updated={"a": expected()},
            added=added("a", *({"aws": _of("aws"), "neuron": newer}[name] for name in order)),
        )
    )
    file.close()
    again = InventoryFile(tmp_path)
    assert again.load()["a"].devices == {"neuron:core0": newer}
    again.close()


def test_a_file_that_is_only_read_has_the_names_of_today_as_well(tmp_path: Path) -> None:
    file = InventoryFile(tmp_path)
    newer = msgspec.structs.replace(_of("neuron"), model="Trainium2")
    # Written after the file was opened, as by another version.
    file.write(Changes(updated={"a": expected()}, added=added("a", _of("aws"), newer)))
    assert file.load()["a"].devices == {"neuron:core0": newer}
    file.close()


def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": expected()}, added=added("a", DEVICES[0])))
    bad = Expected(first_seen=None, last_seen=2.0)  # type: ignore[arg-type]  # what no column takes
    with pytest.raises(InventoryError, match="the inventory cannot be written: NOT NULL"):
        file.write(Changes(updated={"b": bad}, removed=[("a", DEVICES[0].id)]))
    assert loaded(file) == {"a": [0]}
    file.write(Changes(removed=[("a", DEVICES[0].id)]))
    assert loaded(file) == {"a": []}
    file.close()


def test_a_file_that_somebody_has_locked_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.system.files.sqlite_files.WAIT_S", 0.01)
    file = InventoryFile(tmp_path)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(InventoryError, match="cannot be written: database is locked") as raised:
        file.write(Changes(updated={"a": expected()}))
    assert not isinstance(raised.value, DamagedError)
    other.execute("ROLLBACK")
    other.close()
    file.write(Changes(updated={"a": expected()}))
    assert loaded(file) == {"a": []}
    file.close()


def test_a_file_of_another_version_is_reported_and_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE)
    other.execute(f"PRAGMA user_version={VERSION + 1}")
    other.close()
    with pytest.raises(InventoryError) as raised:
        InventoryFile(tmp_path)
    assert not isinstance(raised.value, DamagedError)
    text = (
        f"{tmp_path / FILE}: cannot keep the inventory: written by another version ({VERSION + 1})"
    )
    assert str(raised.value) == text


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database, but long enough to look at" * 40)
    with pytest.raises(DamagedError, match="cannot keep the inventory"):
        InventoryFile(tmp_path)


def test_a_device_that_cannot_be_decoded_and_one_of_no_node_are_left_out(tmp_path: Path) -> None:
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": expected()}, added=added("a", *DEVICES[:2])))
    other = sqlite3.connect(tmp_path / FILE)
    with other:
        other.execute("UPDATE devices SET device = '{' WHERE id = ?", (DEVICES[0].id,))
        other.execute("INSERT INTO devices SELECT 'z', id, first_seen, device FROM devices")
    other.close()
    assert loaded(file) == {"a": [1]}
    file.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.replace(b'":"', b'":"\xff', 1),
        lambda row: b'{"x":' + b"[" * 100_000 + row,
    ],
    ids=["no UTF-8", "deep"],
)
def test_a_row_that_is_damaged_inside_is_left_out(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    listed = msgspec.structs.replace(expected(), listing=LISTING)
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"a": listed}, added=added("a", _of("aws"), DEVICES[1])))
    file.close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    for table, column in (("devices", "device"), ("listings", "listing")):
        for key, row in other.execute(f"SELECT node, {column} FROM {table}").fetchall():
            where = (damage(row), key, row)
            other.execute(f"UPDATE {table} SET {column} = ? WHERE node = ? AND {column} = ?", where)
    other.close()
    again = InventoryFile(tmp_path)
    assert loaded(again) == {"a": []}
    again.close()


def test_any_thread_may_write_and_a_closed_file_is_reported(tmp_path: Path) -> None:
    file = InventoryFile(tmp_path)
    thread = threading.Thread(target=file.write, args=(Changes(updated={"a": expected()}),))
    thread.start()
    thread.join()
    assert loaded(file) == {"a": []}
    file.close()
    with pytest.raises(InventoryError, match="^the inventory cannot be read: "):
        file.load()
    with pytest.raises(InventoryError, match="^the inventory cannot be written: "):
        file.write(Changes(updated={"a": expected()}))


def test_without_a_folder_nothing_is_on_the_disk() -> None:
    file = InventoryFile(None)
    file.write(Changes(updated={"a": expected()}))
    assert loaded(file) == {"a": []}
    assert loaded(InventoryFile(None)) == {}
    file.close()
