"""What rbln-smi says of an NPU, in base units, and what it does not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_rebellions import RebellionsBackend
from accelwatch_rebellions.document import ToolOutput, parse
from accelwatch_rebellions.mapping import identified, read
from accelwatch_rebellions.ownership import contexts_of
from accelwatch_rebellions.table import parse_table
from backends.rebellions.machines import DOCUMENTS, document, lay_out_bus, stage, write_program
from support.machines.pci_nodes import bind, give, make_virtual_function, name_node
from support.machines.polling import Poll, Polled, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

GIB = 1 << 30


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, RebellionsBackend]]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        assert isinstance(backend, RebellionsBackend)
        backend.open()
        yield staged, backend
        backend.close()


def output_of(name: str) -> ToolOutput:
    return parse((DOCUMENTS / f"{name}.json").read_bytes())


def reading(name: str, at: int) -> Reading:
    return read("d", output_of(name).npus[at])


def test_who_a_card_is(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    first, second = identities(polled)
    assert first.id == "rebellions:5ca1ab1e-0001-4000-8000-000000000001"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.NPU, "RBLN-CA12", "atom")
    assert (first.index, first.name, first.serial) == (0, "rbln0", "0000000022500001")
    assert (first.firmware_version, first.driver_version) == ("2.0.1", "2.0.1")
    assert (first.pci_bus_id, first.numa_node) == ("0000:51:00.0", 0)
    assert first.device_nodes == ("/dev/rbln0",)
    assert second.numa_node == 0, "-1 of the command is unknown: the kernel's word stands"
    assert_all_believed(identities(polled), readings(polled))


def test_a_card_at_work() -> None:
    values = reading("atom-x2", 0).values
    assert values["utilization_ratio",] == pytest.approx(0.987)
    assert values["temperature_celsius", "gpu"] == 58.0
    assert values["power_watts",] == pytest.approx(93.9)
    assert values["memory_size_bytes",] == 16_857_747_456
    assert values["memory_used_bytes",] == 2_576_980_377
    assert values["performance_state",] == 2
    assert values["clocks_idle",] == 0
    assert values["throttle_active", "thermal_hardware"] == 0
    assert values["pcie_link_generation", "current"] == 5
    assert values["pcie_link_width_lanes", "current"] == 16
    assert values["reported_status_info", "normal"] == 1
    assert values["reported_health_info", "ok"] == 1


def test_an_idle_card() -> None:
    values = reading("atom-x2", 1).values
    assert values["utilization_ratio",] == 0.0
    assert values["memory_used_bytes",] == 0
    assert values["clocks_idle",] == 1
    assert values["pcie_link_generation", "current"] == 4


def test_numbers_of_an_older_driver_are_texts_and_small_memory_is_mebibytes() -> None:
    values = reading("sdk1", 0).values
    assert values["memory_size_bytes",] == 16_077 << 20
    assert values["memory_used_bytes",] == 2_457 << 20
    assert values["power_watts",] == pytest.approx(43.9)
    assert values["temperature_celsius", "gpu"] == 30.0


def test_contexts_of_a_process_are_one_process(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    processes = polled[0].readings[0].processes
    assert processes is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in processes] == [
        (4711, "python3", 2 * GIB),
        (4800, "serve", None),
    ]
    assert processes[1].absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert polled[1].readings[0].processes == ()


def test_processes_of_an_older_driver() -> None:
    (entry,) = output_of("sdk1").contexts or ()
    assert (entry.in_group, entry.pid, entry.command) == (0, 4711, "python")


def test_npus_of_several_groups_are_distinguished(tmp_path: Path) -> None:
    """`npu` counts within a group: five NPUs, of which three are number 0."""
    with opened(tmp_path, "atom-plus-groups") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    assert [(d.name, d.index, d.pci_bus_id) for d in identities(polled)] == [
        ("rbln0", 0, "0000:03:00.0"),
        ("rbln1", 1, "0000:04:00.0"),
        ("rbln2", 2, "0000:63:00.0"),
        ("rbln3", 3, "0000:64:00.0"),
        ("rbln4", 4, "0000:83:00.0"),
    ]
    assert len({d.id for d in identities(polled)}) == 5
    values = [one.readings[0].values for one in polled]
    assert [values_of["power_watts",] for values_of in values] == pytest.approx(
        [17.2505, 17.0, 39.12025, 38.444, 17.811]
    )
    assert [values_of["utilization_ratio",] for values_of in values] == pytest.approx(
        [0.0, 0.0, 0.615, 0.609, 0.0]
    )
    assert_all_believed(identities(polled), readings(polled))


def processes_by_name(polled: list[Polled]) -> dict[str, object]:
    by_name: dict[str, object] = {}
    for one in polled:
        processes = one.readings[0].processes
        by_name[one.identity[0].name] = processes and [
            (p.pid, p.gpu_memory_bytes) for p in processes
        ]
    return by_name


def test_a_context_stands_where_it_can_only_be(tmp_path: Path) -> None:
    """By what is in use there; what may be on several NPUs is on none, and a note says so."""
    with opened(tmp_path, "atom-plus-groups") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    assert processes_by_name(polled) == {
        "rbln0": None,
        "rbln1": (),
        "rbln2": [(5202, 4 * GIB)],
        "rbln3": [(5202, 4 * GIB)],
        "rbln4": (),
    }
    first, third = polled[0].readings[0], polled[2].readings[0]
    assert first.absent["processes",] is Absence.UNSUPPORTED
    assert "on which NPU 2 of its contexts are" in first.notes[0]
    assert "on which NPU 2 of its contexts are" in third.notes[0]
    assert polled[3].readings[0].notes == ()


def test_open_device_nodes_decide_where_a_context_is(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-plus-groups") as (staged, backend):
        for pid, numbers in ((5101, (0,)), (5202, (2, 3))):
            folder = tmp_path / f"proc/{pid}/fd"
            folder.mkdir(parents=True)
            (folder / "0").symlink_to("/dev/null")
            for number in numbers:
                (folder / str(10 + number)).symlink_to(f"/dev/rbln{number}")
        polled = Poll(staged.clock)(backend)
    by_name = processes_by_name(polled)
    assert by_name["rbln0"] == [(5101, 96 << 20)]
    assert by_name["rbln2"] == [(5202, 4 * GIB + (64 << 20))]
    assert all(one.readings[0].notes == () for one in polled)


def test_the_power_of_a_card_is_counted_once(tmp_path: Path) -> None:
    """Each of the four NPUs of an ATOM Max repeats what its whole card draws."""
    with opened(tmp_path, "atom-max-x2") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    assert [device.name for device in identities(polled)] == [f"rbln{at}" for at in range(8)]
    watts = [one.readings[0].values.get(("power_watts",)) for one in polled]
    assert watts == [143.25, None, None, None, 88.125, None, None, None]
    other = polled[5].readings[0]
    assert other.absent["power_watts",] is Absence.UNSUPPORTED
    assert other.notes == ("the power of the card is reported once, at rbln4",)
    assert other.processes == ()


def test_zeros_are_no_uuid_and_no_board() -> None:
    zeros = {"uuid": "00000000-0000-0000-0000-000000000000", "sid": "0000000000000000"}
    devices = [
        {**zeros, "npu": at, "device": f"rbln{at}", "card_power": "20W", "pci": {"bus_id": bus}}
        for at, bus in enumerate(("0000:51:00.0", "0000:52:00.0"))
    ]
    npus = parse(msgspec.json.encode({"devices": devices})).npus
    blank = Device(id="d", vendor="rebellions", backend="rebellions", index=0, name="d")
    known = [identified(blank, npu, None) for npu in npus]
    assert [device.id for device in known] == [
        "rebellions:0000:51:00.0",
        "rebellions:0000:52:00.0",
    ]
    assert [(device.uuid, device.serial) for device in known] == [(None, None)] * 2
    assert [read("d", npu, npus).values["power_watts",] for npu in npus] == [20.0, 20.0]


def test_devices_that_give_one_number_are_all_there() -> None:
    devices = [{"npu": 0, "pci": {"bus_id": f"0000:{at}:00.0"}} for at in (51, 52, 53)]
    assert [npu.number for npu in parse(msgspec.json.encode({"devices": devices})).npus] == [
        0,
        1,
        2,
    ]


def test_processes_were_not_requested(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (_, backend):
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    assert plain.processes is None
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


@pytest.mark.parametrize(("at", "health"), [(0, Health.OK), (1, Health.FAILED), (2, Health.OK)])
def test_health(at: int, health: Health) -> None:
    assert evaluate_health(DeviceState.OK, reading("rebel-bad-day", at), [], 0.0).health is health


def test_heat_slows_a_card_down() -> None:
    assert reading("rebel-bad-day", 0).values["throttle_active", "thermal_hardware"] == 1


@pytest.mark.parametrize("status", ["normal", "puzzled", None])
def test_a_system_abort_is_a_failure_whatever_the_status(status: str | None) -> None:
    fields = {"npu": 0, "pstate": "P12", "status": status}
    (npu,) = parse(msgspec.json.encode({"devices": [fields]})).npus
    values = read("d", npu).values
    assert values["reported_health_info", "failed"] == 1
    assert ("reported_health_info", "ok") not in values


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ("ready", "ok"),
        ("BUSY", "ok"),
        ("INIT", "degraded"),
        ("fault", "failed"),
        ("NOT_FOUND", "failed"),
        ("finish", None),
    ],
)
def test_what_a_status_means(status: str, health: str | None) -> None:
    (npu,) = parse(msgspec.json.encode({"devices": [{"npu": 0, "status": status}]})).npus
    values = read("d", npu).values
    assert values["reported_status_info", status] == 1
    assert [series[1] for series in values if series[0] == "reported_health_info"] == (
        [] if health is None else [health]
    )


def test_what_cannot_be_read_hides_nothing_else() -> None:
    odd = reading("rebel-bad-day", 2)
    assert odd.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert odd.absent["power_watts",] is Absence.ERROR
    assert odd.absent["performance_state",] is Absence.ERROR
    assert odd.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert odd.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert odd.absent["pcie_link_width_lanes", "current"] is Absence.ERROR
    assert odd.values["memory_size_bytes",] == 154_618_822_656
    assert odd.values["reported_status_info", "puzzled"] == 1
    assert not [series for series in odd.values if series[0] == "reported_health_info"]


def test_a_card_without_uuid_goes_by_its_slot(tmp_path: Path) -> None:
    with opened(tmp_path, "rebel-bad-day") as (_, backend):
        (device,) = backend.identify(backend.discover()[2])
    assert (device.id, device.uuid) == ("rebellions:0000:85:00.0", None)


def test_a_card_on_the_bus_that_is_not_listed_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (staged, backend):
        device = backend.discover()[1]
        rest = document("sdk1")
        (tmp_path / "rbln.json").write_bytes(msgspec.json.encode(rest))
        staged.clock.advance(10.0)
        lost = loss(backend, staged.clock, device)
    assert "does not list the NPU at 0000:d8:00.0" in str(lost)


def test_a_card_that_was_given_to_somebody_else_is_not_lost(tmp_path: Path) -> None:
    """In a container: the bus shows both cards, the command one, and /dev one node."""
    with stage(tmp_path, "atom-x2") as staged:
        rest = {**document("atom-x2"), "contexts": []}
        assert isinstance(rest["devices"], list)
        rest["devices"] = rest["devices"][:1]
        (tmp_path / "rbln.json").write_bytes(msgspec.json.encode(rest))
        for bus in ("0000:51:00.0", "0000:d8:00.0"):
            bind(tmp_path, bus, "rebellions")
        give(tmp_path, "rbln0")
        backend = staged.backend()
        backend.open()
        mine, other = Poll(staged.clock)(backend)
        backend.close()
    assert mine.error is None
    assert isinstance(other.error, DevicePermission)
    assert "only 1 of 2 device nodes are here" in str(other.error)


def test_a_card_that_was_listed_before_is_lost_wherever_its_node_is(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (staged, backend):
        (device,) = backend.identify(backend.discover()[1])
        bind(tmp_path, "0000:d8:00.0", "rebellions")
        name_node(tmp_path, "0000:d8:00.0", "rebellions", "rbln1")
        (tmp_path / "rbln.json").write_bytes(msgspec.json.encode(document("sdk1")))
        for _ in range(RUNS - 1):
            staged.clock.advance(10.0)
            with pytest.raises(ReadError, match="does not list .* in this run") as found:
                backend.identify(device)
            assert not isinstance(found.value, DeviceLost)
            with pytest.raises(ReadError, match="in this run"):
                backend.identify(device)  # the same answer, looked at again
        staged.clock.advance(10.0)
        with pytest.raises(DeviceLost, match="does not list"):
            backend.identify(device)


def test_a_card_that_is_listed_again_was_not_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (staged, backend):
        (device,) = backend.identify(backend.discover()[1])
        whole = (tmp_path / "rbln.json").read_bytes()
        for _ in range(RUNS):
            (tmp_path / "rbln.json").write_bytes(msgspec.json.encode(document("sdk1")))
            staged.clock.advance(10.0)
            with pytest.raises(ReadError, match="in this run"):
                backend.identify(device)
            (tmp_path / "rbln.json").write_bytes(whole)
            staged.clock.advance(10.0)
            assert backend.identify(device) == [device]


def test_virtual_functions_that_the_command_does_not_list_are_no_cards(tmp_path: Path) -> None:
    with opened(tmp_path, "sdk1") as (_, backend):
        lay_out_bus(tmp_path, ["0000:51:00.1"])
        make_virtual_function(tmp_path, "0000:51:00.1", "0000:51:00.0")
        assert [device.pci_bus_id for device in backend.discover()] == ["0000:51:00.0"]


def test_a_container_without_any_card_of_its_own_is_reported_as_such(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        bind(tmp_path, "0000:51:00.0", "rebellions")
        write_program(tmp_path, "echo 'No devices found' >&2; exit 1")
        backend = staged.backend()
        backend.open()
        with pytest.raises(DevicePermission, match="only 0 of 1 device nodes are here"):
            backend.identify(backend.discover()[0])


def test_a_card_that_only_the_command_sees_is_there(tmp_path: Path) -> None:
    with opened(tmp_path, "atom-x2") as (_, backend):
        bus = tmp_path / "sys/bus/pci/devices/0000:d8:00.0"
        (bus / "vendor").write_text("0x8086\n")
        assert [device.index for device in backend.discover()] == [0, 1]


def test_other_functions_of_the_vendor_are_no_accelerators(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        (tmp_path / "sys/bus/pci/devices/0000:51:00.0/class").write_text("0x060400\n")
        assert not staged.backend().probe().present


def test_without_the_command_it_says_what_to_install(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        (tmp_path / "usr/bin/rbln-smi").unlink()
        with pytest.raises(BackendUnavailable, match="rbln-smi was found neither") as refused:
            staged.backend().open()
    assert "install" in refused.value.remedy


def test_the_older_name_of_the_command(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        (tmp_path / "usr/bin/rbln-smi").rename(tmp_path / "usr/bin/rbln-stat")
        backend = staged.backend()
        assert backend.open().versions == {"driver": "1.2.92"}


@pytest.mark.parametrize("pace", [0, -1, True, "2", 4000])
def test_a_wrong_pace_is_refused(tmp_path: Path, pace: object) -> None:
    with stage(tmp_path, "sdk1") as staged, pytest.raises(BackendUnavailable, match="pace_s"):
        staged.backend(options={"pace_s": pace}).open()


def test_complaints_of_the_command_are_reported(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        write_program(tmp_path, "echo 'No devices found' >&2; exit 1")
        backend = staged.backend()
        backend.open()
        with pytest.raises(ReadError, match="status 1: No devices found"):
            backend.identify(backend.discover()[0])


TABLE = """
+-----------------------------------------------------------------------------------------------+
|                            Device Information KMD ver: 1.0.3                                  |
+=====+===========+=========+===============+======+=======+======+=====================+=======+
| NPU |    Name   | Device  |   PCI BUS ID  | Temp | Power | Perf |  Memory(used/total) |  Util |
+-----+-----------+---------+---------------+------+-------+------+---------------------+-------+
| 0   | RBLN-CA22 | rbln0   |  0000:51:00.0 |  38C | 43.9W | P2   |   2.5GB / 15.5GiB   |  98.7 |
+-----+-----------+---------+---------------+------+-------+------+---------------------+-------+
| Ctx | PID       | Process | more          | and  | others | x   | y                   | z     |
"""


def test_a_command_without_json_is_read_by_its_table(tmp_path: Path) -> None:
    with stage(tmp_path, "sdk1") as staged:
        (tmp_path / "table").write_text(TABLE)
        write_program(
            tmp_path,
            f'[ "$1" = -j ] && {{ echo "unknown option" >&2; exit 2; }}; cat {tmp_path}/table',
        )
        backend = staged.backend()
        assert backend.open().versions == {"driver": "1.0.3"}
        (one,) = Poll(staged.clock)(backend)
    assert one.identity[0].id == "rebellions:0000:51:00.0"
    values = one.readings[0].values
    assert values["memory_used_bytes",] == 2_500_000_000
    assert values["memory_size_bytes",] == round(15.5 * GIB)
    assert values["performance_state",] == 2


GROUPED_TABLE = """
+-------------------------------------------------------------------------------------------------+
|                                Device Information KMD ver: 3.5.1                                |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
| NPU |    Name   |  Device |   PCI BUS ID  | Temp |  Power  | Perf |  Memory(used/total) |  Util |
+=====+===========+=========+===============+======+=========+======+=====================+=======+
| 0   | RBLN-CR13 | rbln0   |  0000:03:00.0 |  38C |  100.0W |  P14 |    0.0B / 140.0GiB  |   0.0 |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
| 0   | RBLN-CR13 | rbln1   |  0000:04:00.0 |  61C |  310.5W |  P2  |  10.5GiB / 140.0GiB |  93.1 |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
+-------------------------------------------------------------------------------------------------+
|                                       Context Information                                       |
+-----+------------------+---------+-------+----------+------+----------+--------+----------------+
| NPU | Process          |   PID   |  CTX  | Priority | PTID | Memalloc | Status |    Util Info   |
+=====+==================+=========+=======+==========+======+==========+========+================+
| 0   | python3          |  6401   | 20001 |  normal  |  0   | 10.5GiB  |  run   |      92.0      |
+-----+------------------+---------+-------+----------+------+----------+--------+----------------+
"""


def test_a_table_with_rules_between_groups_and_with_contexts() -> None:
    table = parse_table(GROUPED_TABLE.encode())
    assert [(npu.number, npu.pci_bus_id) for npu in table.npus] == [
        (0, "0000:03:00.0"),
        (1, "0000:04:00.0"),
    ]
    assert table.driver_version == "3.5.1"
    busy = read("d", table.npus[1], table.npus).values
    assert busy["power_watts",] == 310.5
    assert busy["memory_used_bytes",] == round(10.5 * GIB)
    (entry,) = table.contexts or ()
    assert (entry.pid, entry.command, entry.memory) == (6401, "python3", "10.5GiB")
    mine = contexts_of(table.npus[1], table.npus, [entry], lambda pid: frozenset())
    assert mine.entries == (entry,), "the other one has nothing in use"


CARDS_OF_FOUR = """
|                                Device Information KMD ver: 3.2.2                                |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
| NPU |    Name   |  Device |   PCI BUS ID  | Temp |  Power  | Perf |  Memory(used/total) |  Util |
+=====+===========+=========+===============+======+=========+======+=====================+=======+
| 0   | RBLN-CA25 | rbln0   |  0000:15:00.0 |  41C |  47.0W  |  P14 |    0.0B / 15.7GiB   |   0.0 |
| 1   |           | rbln1   |  0000:16:00.0 |  44C |         |  P14 |    0.0B / 15.7GiB   |   0.0 |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
| 2   |           | rbln2   |  0000:1c:00.0 |  43C |  46.1W  |  P14 |    0.0B / 15.7GiB   |   0.0 |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
"""


def test_a_card_of_several_npus_has_its_name_once() -> None:
    table = parse_table(CARDS_OF_FOUR.encode())
    assert [npu.text("name") for npu in table.npus] == ["RBLN-CA25", "RBLN-CA25", None]
    first, second = (read("d", npu, table.npus) for npu in table.npus[:2])
    assert first.values["power_watts",] == 47.0
    assert second.values["temperature_celsius", "gpu"] == 44.0
    assert second.absent["power_watts",] is Absence.UNSUPPORTED


def test_a_table_without_contexts_says_nothing_of_processes(tmp_path: Path) -> None:
    assert parse_table(TABLE.rsplit("\n", 2)[0].encode()).contexts is None
    with stage(tmp_path, "sdk1") as staged:
        (tmp_path / "table").write_text(TABLE.rsplit("\n", 2)[0])
        write_program(tmp_path, f'[ "$1" = -j ] && exit 2; cat {tmp_path}/table')
        backend = staged.backend()
        backend.open()
        (one,) = Poll(staged.clock)(backend)
    assert one.readings[0].processes is None
    assert one.readings[0].absent["processes",] is Absence.UNSUPPORTED


@pytest.mark.parametrize("output", [b"", b"[]", b"{}", b'{"devices": 5}', b"\xff", b"[" * 100_000])
def test_what_is_no_document_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="rbln-smi"):
        parse(output)
    with pytest.raises(ReadError, match="neither JSON nor its table"):
        parse_table(output)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
_KEYS = (
    "npu",
    "name",
    "sid",
    "uuid",
    "status",
    "pci",
    "temperature",
    "card_power",
    "pstate",
    "memory",
)
_DEVICE = st.dictionaries(st.sampled_from((*_KEYS, "util", "bus_id", "link_speed")), _ANY)


@given(st.lists(_DEVICE | _ANY, max_size=3), _ANY)
def test_damaged_documents_raise_nothing_untyped(devices: list[object], contexts: object) -> None:
    output = parse(_json({"devices": devices, "contexts": contexts}))
    assert len({npu.number for npu in output.npus}) == len(output.npus)
    for npu in output.npus:
        read("d", npu, output.npus)
        contexts_of(npu, output.npus, output.contexts or (), lambda pid: frozenset())


def _json(content: object) -> bytes:
    return msgspec.json.encode(content)


@given(st.integers(0, 3000))
def test_a_document_that_was_cut_is_an_error_or_whole(length: int) -> None:
    whole = (DOCUMENTS / "atom-x2.json").read_bytes()
    with contextlib.suppress(ReadError):
        assert parse(whole[:length]) == parse(whole)


@pytest.mark.oracle
def test_recorded_json() -> None:
    output = parse(sample("rebellions/cli/rbln_smi_j_trimmed.json").read_bytes())
    (npu,) = output.npus
    assert output.driver_version == "3.0.0"
    assert (npu.number, npu.text("sid"), npu.pci_bus_id) == (0, "0000000022502229", "0000:83:00.0")
    assert npu.text("uuid") == "d86d3e84-f99d"
    assert read("d", npu).values == {}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "temperature", "used", "state"),
    [
        ("rbln_smi_table_ca12_docs_v0.10.4.txt", 38.0, 2_400_000_000, 2),
        ("rbln_stat_table_ca12_old.txt", 30.0, round(2.4 * GIB), None),
    ],
)
def test_recorded_tables(file: str, temperature: float, used: int, state: int | None) -> None:
    table = parse_table(sample(f"rebellions/cli/{file}").read_bytes())
    assert table.driver_version is None
    assert [(npu.number, npu.pci_bus_id) for npu in table.npus] == [
        (0, "0000:51:00.0"),
        (1, "0000:d8:00.0"),
    ]
    values = read("d", table.npus[0]).values
    assert values["temperature_celsius", "gpu"] == temperature
    assert values["power_watts",] == pytest.approx(43.9)
    assert values["memory_used_bytes",] == used
    assert values["memory_size_bytes",] == round(15.7 * GIB)
    assert values["utilization_ratio",] == pytest.approx(0.987)
    assert values.get(("performance_state",)) == state


def test_a_context_with_more_memory_than_any_npu_has_in_use_is_undecided() -> None:
    """Both figures are of different moments: one that has just begun is on one of them all the same."""
    used = {"memory": {"used": "0", "total": "17179869184"}}
    output = parse(
        _json(
            {
                "devices": [{"npu": 0, "device": f"rbln{at}", **used} for at in (0, 1)],
                "contexts": [{"npu": 0, "pid": 7, "memalloc": "1073741824"}],
            }
        )
    )
    for npu in output.npus:
        mine = contexts_of(npu, output.npus, output.contexts or (), lambda pid: frozenset())
        assert (mine.entries, mine.undecided) == ((), 1)
