"""What npu-smi says of an Ascend NPU, in base units, and what it does not say."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_ascend import AscendBackend
from accelwatch_ascend.document import (
    Detail,
    ToolOutput,
    numbered,
    parse_mapping,
    parse_pairs,
)
from accelwatch_ascend.mapping import identified, processes_of, read, with_card_power
from accelwatch_ascend.table import parse_table
from backends.ascend.machines import (
    TABLES,
    arguments_used,
    ecc,
    hccs,
    lay_out_bus,
    pairs,
    staged,
    write_program,
)
from support.machines.polling import Poll, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

MIB = 1 << 20
NAMELESS = Device(
    id="ascend:0", vendor="ascend", backend="ascend", index=0, name="ascend0", kind=DeviceKind.NPU
)


@contextlib.contextmanager
def opened(folder: Path, name: str, **options: object) -> Iterator[tuple[Stage, AscendBackend]]:
    with staged(folder, name, options=options) as machine:
        backend = machine.backend()
        assert isinstance(backend, AscendBackend)
        backend.open()
        yield machine, backend
        backend.close()


def output_of(name: str) -> ToolOutput:
    return parse_table((TABLES / f"{name}.txt").read_bytes())


def reading(name: str, at: int, detail: Detail | None = None) -> Reading:
    return read("d", output_of(name).chips[at], detail or Detail())


def test_who_a_chip_is(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        (tmp_path / "dev/davinci4").touch()
        polled = Poll(machine.clock)(backend)
    second, first = identities(polled)
    assert first.id == "ascend:5CA1AB1E-00000004-1223F2B2-84528485-104301E2"
    assert (first.kind, first.model) == (DeviceKind.NPU, "Ascend 910B4")
    assert (first.architecture, first.serial) == ("ascend910b", None)
    assert (first.index, first.name) == (1, "ascend1"), "by the map, not by the order of the table"
    assert (first.firmware_version, first.driver_version) == ("7.5.0", "24.1.1")
    assert (first.pci_bus_id, first.numa_node) == ("0000:81:00.0", 1)
    assert first.device_nodes == ("/dev/davinci4",)
    assert (second.index, second.device_nodes) == (0, ()), "a node that is not there is not named"
    assert_all_believed(identities(polled), readings(polled))


def test_a_chip_at_work() -> None:
    values = reading("910b4-x2", 0).values
    assert values["utilization_ratio",] == pytest.approx(0.93)
    assert values["temperature_celsius", "gpu"] == 58.0
    assert values["power_watts",] == pytest.approx(271.3)
    assert values["memory_size_bytes",] == 32768 * MIB
    assert values["memory_used_bytes",] == 26838 * MIB
    assert values["reported_status_info", "OK"] == 1
    assert values["reported_health_info", "ok"] == 1


def test_processes(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        idle, busy = (one.readings[0].processes for one in Poll(machine.clock)(backend))
    assert idle == ()
    assert busy is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in busy] == [
        (4711, "python3", 23912 * MIB),
        (4800, None, 132 * MIB),
    ]


def test_two_dies_of_one_npu() -> None:
    first, second = output_of("a3").chips[:2]
    assert (first.key, second.key) == ((0, 0), (0, 1))
    assert (first.pci_bus_id, second.pci_bus_id) == ("0000:9d:00.0", "0000:9f:00.0")
    assert reading("a3", 0).values["power_watts",] == pytest.approx(178.9)
    assert reading("a3", 1).absent["power_watts",] is Absence.UNSUPPORTED
    assert [(job.key, job.pid) for job in output_of("a3").jobs] == [((0, 1), 632268)]


def test_the_power_of_two_dies_is_that_of_their_card() -> None:
    chips = output_of("a3").chips
    readings = [with_card_power(reading("a3", at), chip, chips) for at, chip in enumerate(chips)]
    assert [one.notes for one in readings] == [
        ("power_watts is that of the whole card: ascend0, ascend1",),
        ("power_watts is only known of the whole card, and counted on ascend0",),
        ("power_watts is that of the whole card: ascend2, ascend3",),
        ("power_watts is only known of the whole card, and counted on ascend2",),
    ]
    boards = [one.values["power_component_watts", "board"] for one in readings]
    assert boards == pytest.approx([178.9, 178.9, 181.2, 181.2])


@pytest.mark.parametrize("name", ["310p3-duo", "910b4-x2", "310"])
def test_a_chip_with_its_own_power_or_none_is_left_as_it_is(name: str) -> None:
    chips = output_of(name).chips
    for at, chip in enumerate(chips):
        assert with_card_power(reading(name, at), chip, chips) == reading(name, at)


def test_the_backend_says_whose_power_it_is(tmp_path: Path) -> None:
    with opened(tmp_path, "a3") as (machine, backend):
        readings = [one.readings[0] for one in Poll(machine.clock)(backend)]
    assert sum(one.values.get(("power_watts",), 0) for one in readings) == pytest.approx(360.1)
    assert all(("power_component_watts", "board") in one.values for one in readings)
    assert all("whole card" in one.notes[0] for one in readings)


def test_a_die_has_the_node_that_its_table_names(tmp_path: Path) -> None:
    with opened(tmp_path, "a3") as (machine, backend):
        for node in range(4):
            (tmp_path / f"dev/davinci{node}").touch()
        polled = identities(Poll(machine.clock)(backend))
    nodes = {device.pci_bus_id: device.device_nodes for device in polled}
    assert nodes["0000:99:00.0"] == ("/dev/davinci2",)
    assert nodes["0000:9f:00.0"] == ("/dev/davinci1",)
    assert {device.architecture for device in polled} == {"ascend910_93"}


def test_two_chips_behind_one_function(tmp_path: Path) -> None:
    with opened(tmp_path, "310p3-duo") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert first.pci_bus_id == "0000:81:00.0"
    assert second.pci_bus_id is None, "the address is that of the first"
    assert (first.uuid, second.uuid) == tuple(
        f"5CA1AB1E-0000000{at}-1223F2B2-84528485-104301E2" for at in (0, 1)
    )
    assert (first.index, second.index) == (0, 1)
    one, two = readings(polled)
    assert one.values["memory_used_bytes",] == 41731 * MIB
    assert two.values["memory_used_bytes",] == 1507 * MIB
    assert one.absent["power_watts",] is Absence.UNSUPPORTED
    assert one.processes is not None
    assert [process.pid for process in one.processes] == [4711]
    assert two.processes == ()


@pytest.mark.parametrize("lost", [0, 1])
def test_a_chip_of_two_that_does_not_report_its_die_has_an_id_of_its_own(
    tmp_path: Path, lost: int
) -> None:
    """The same ids as npu-exporter's page gives (tests/fleet/dialects/test_shared_addresses.py)."""
    with staged(tmp_path, "310p3-duo") as machine:
        (tmp_path / f"board-4-{lost}").unlink()
        backend = machine.backend()
        backend.open()
        polled = Poll(machine.clock)(backend)
    ids = [device.id for device in identities(polled)]
    assert ids[lost] == ("ascend:0000:81:00.0", "ascend:0000:81:00.0-1")[lost]
    assert ids[1 - lost].startswith("ascend:5CA1AB1E-")


@pytest.mark.parametrize("bare", ["NA", "N/A"])
def test_a_chip_whose_address_is_not_reported_is_no_second_device(
    tmp_path: Path, bare: str
) -> None:
    with staged(tmp_path, "910b4-x2") as machine:
        table = tmp_path / "table"
        text = table.read_text()
        one, other = re.findall(r"0000:[0-9A-F]{2}:00\.0", text)
        table.write_text(text.replace(one, bare.ljust(len(one))))
        backend = machine.backend()
        backend.open()
        polled = Poll(machine.clock)(backend)
    assert {device.pci_bus_id for device in identities(polled)} == {one.lower(), other.lower()}
    assert len(polled) == 2
    assert all(("power_watts",) in reading.values for reading in readings(polled))


def test_addresses_that_are_not_reported_are_not_guessed(tmp_path: Path) -> None:
    with staged(tmp_path, "910b4-x2") as machine:
        table = tmp_path / "table"
        table.write_text(re.sub(r"0000:[0-9A-F]{2}:00\.0", "NA          ", table.read_text()))
        backend = machine.backend()
        backend.open()
        buses = [device.pci_bus_id for device in backend.discover()]
    assert buses.count(None) == 2
    assert len(buses) == 4


def test_a_further_chip_does_not_stand_in_for_a_card_that_is_not_listed(tmp_path: Path) -> None:
    with staged(tmp_path, "310p3-duo") as machine:
        lay_out_bus(tmp_path / "other", ("0000:82:00.0",))
        devices = "sys/bus/pci/devices/0000:82:00.0"
        shutil.copytree(tmp_path / "other" / devices, tmp_path / devices)
        backend = machine.backend()
        backend.open()
        buses = [device.pci_bus_id for device in backend.discover()]
    assert buses == ["0000:81:00.0", "0000:82:00.0", None]


def test_a_table_that_is_indented_reports_its_version_too() -> None:
    lines = (
        "| npu-smi 22.0.0                       Version:22.0.2                                 |",
        "| NPU     Name      | Health   | Power(W)     Temp(C)           Hugepages-Usage(page) |",
        "| Chip    Device    | Bus-Id   | AICore(%)    Memory-Usage(MB)                        |",
        "| 0       310P3     | OK       | 16.9         41                0    / 0              |",
        "| 0       0         | 0000:86:00.0 | 0        991  / 21534                            |",
    )
    table = parse_table("\n".join(f"   {line}" for line in lines).encode())
    assert table.driver_version == "22.0.2"
    assert [chip.pci_bus_id for chip in table.chips] == ["0000:86:00.0"]


def test_the_oldest_table_has_no_processes(tmp_path: Path) -> None:
    with opened(tmp_path, "310") as (machine, backend):
        first, _ = readings(Poll(machine.clock)(backend))
    assert first.absent["processes",] is Absence.UNSUPPORTED
    assert first.values["ecc_errors_total", "corrected"] == 5
    assert first.values["power_watts",] == pytest.approx(12.8)
    assert first.values["memory_used_bytes",] == 2621 * MIB


def test_hbm_is_the_memory_and_ddr_a_second_one() -> None:
    values = reading("910a", 0).values
    assert values["memory_size_bytes",] == 32768 * MIB
    assert values["memory_used_bytes",] == MIB
    assert values["memory_pool_size_bytes", "ddr"] == 15665 * MIB
    assert values["memory_pool_used_bytes", "ddr"] == 591 * MIB
    assert ("memory_pool_size_bytes", "ddr") not in reading("910b4-x2", 0).values, "0 / 0 is none"


def test_the_table_of_the_950(tmp_path: Path) -> None:
    with opened(tmp_path, "950") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    on_bus, off_bus = identities(polled)
    assert (on_bus.model, on_bus.architecture) == ("Ascend950DT", "ascend950")
    assert (on_bus.pci_bus_id, off_bus.pci_bus_id) == ("0000:21:00.0", None)
    assert (off_bus.id, off_bus.index) == ("ascend:1-0", 1)
    first, second = readings(polled)
    assert first.values["utilization_ratio",] == pytest.approx(0.07)
    assert first.values["memory_size_bytes",] == 114688 * MIB
    assert first.processes == ()
    assert second.processes is not None
    assert [process.gpu_memory_bytes for process in second.processes] == [2048 * MIB]


@pytest.mark.parametrize(
    ("at", "word", "health"),
    [
        (0, "Critical", Health.FAILED),
        (1, "Warning", Health.DEGRADED),
        (2, "Alarm", Health.FAILED),
        (3, "UNKNOWN", Health.FAILED),
    ],
)
def test_words_of_health(at: int, word: str, health: Health) -> None:
    sick = reading("910b3-bad-day", at)
    assert sick.values["reported_status_info", word] == 1
    assert evaluate_health(DeviceState.OK, sick, [], 0.0).health is health


def test_a_word_of_health_that_nobody_knows_means_nothing() -> None:
    odd = reading("910b3-bad-day", 4)
    assert odd.values["reported_status_info", "Bewildered"] == 1
    assert odd.absent["reported_health_info",] is Absence.ERROR
    assert evaluate_health(DeviceState.OK, odd, [], 0.0).health is Health.OK


def test_what_cannot_be_read_hides_nothing_else() -> None:
    silent, overfull, odd, more = (reading("910b3-bad-day", at) for at in (1, 2, 3, 4))
    assert silent.absent["power_watts",] is Absence.UNSUPPORTED
    assert silent.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert silent.values["memory_size_bytes",] == 65536 * MIB
    assert overfull.absent["memory_used_bytes",] is Absence.ERROR
    assert overfull.values["memory_size_bytes",] == 65536 * MIB
    assert "more memory in use" in overfull.notes[0]
    assert odd.absent["power_watts",] is Absence.ERROR
    assert odd.absent["utilization_ratio",] is Absence.ERROR
    assert odd.values["temperature_celsius", "gpu"] == 38.0
    assert more.absent["power_watts",] is Absence.ERROR, "two numbers for one heading are nobody's"
    assert more.values["utilization_ratio",] == pytest.approx(0.04)


def test_counters_of_ecc() -> None:
    values = reading("910b4-x2", 0, Detail(ecc=parse_pairs(ecc(1, 2, waiting=1).encode()))).values
    assert values["ecc_errors_total", "corrected"] == 1
    assert values["ecc_errors_total", "uncorrected"] == 2
    assert values["ecc_location_errors_total", "uncorrected", "hbm"] == 2
    assert values["ecc_location_errors_total", "uncorrected", "ddr"] == 0
    assert values["ecc_lifetime_errors", "uncorrected"] == 20
    assert values["memory_retired_pages", "single_bit"] == 2
    assert values["memory_retired_pages", "double_bit"] == 4
    assert values["memory_repair_pending",] == 1


def test_pages_that_wait_to_be_isolated_make_a_chip_degraded() -> None:
    for waiting, health in ((0, Health.OK), (1, Health.DEGRADED)):
        detail = Detail(ecc=parse_pairs(ecc(waiting=waiting).encode()))
        assert evaluate_health(DeviceState.OK, reading("a3", 0, detail), [], 0.0).health is health


def test_a_counter_that_is_no_number_leaves_the_others(tmp_path: Path) -> None:
    pairs_text = pairs({"HBM Single Bit Error Count": "many", "HBM Double Bit Error Count": 4})
    odd = reading("a3", 0, Detail(ecc=parse_pairs(pairs_text.encode())))
    assert odd.absent["ecc_errors_total", "corrected"] is Absence.ERROR
    assert odd.values["ecc_errors_total", "uncorrected"] == 4
    assert odd.absent["ecc_lifetime_errors", "corrected"] is Absence.UNSUPPORTED
    assert odd.absent["memory_repair_pending",] is Absence.UNSUPPORTED


def test_a_round_queries_one_chip_for_its_counters(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        backend.discover()
        assert arguments_used(tmp_path) == [
            "info",
            "info -m",
            "info -t ecc -i 4 -c 0",
            "info -t hccs -i 4 -c 0",
        ]
        polled = Poll(machine.clock)(backend)
        arguments_used(tmp_path)
        assert polled[0].readings[0].absent["ecc_errors_total",] is Absence.NOT_COLLECTED
        machine.clock.advance(10.0)
        again = Poll(machine.clock)(backend)
    assert arguments_used(tmp_path) == ["info", "info -t ecc -i 5 -c 0", "info -t hccs -i 5 -c 0"]
    assert again[0].readings[0].values["ecc_errors_total", "corrected"] == 0
    assert again[1].readings[0].values["ecc_errors_total", "corrected"] == 3, "as told before"


def test_a_chip_without_links_is_not_queried_for_them_again(tmp_path: Path) -> None:
    with opened(tmp_path, "310p3-duo") as (machine, backend):
        for _ in range(3):
            polled = Poll(machine.clock)(backend)
            machine.clock.advance(10.0)
    questions = [line for line in arguments_used(tmp_path) if "hccs" in line]
    assert questions == ["info -t hccs -i 4 -c 0", "info -t hccs -i 4 -c 1"]
    for one in polled:
        assert one.readings[0].absent["interconnect_links",] is Absence.UNSUPPORTED


def test_links_of_a_chip() -> None:
    link_pairs = parse_pairs(hccs(errors=(0, 0, 3, 0, 0, 0, 0)).encode())
    values = reading("910b4-x2", 0, Detail(links=link_pairs)).values
    assert values["interconnect_links", "hccs", "up"] == 7
    assert values["interconnect_links", "hccs", "down"] == 0
    assert values["interconnect_bytes_total", "hccs", "transmit"] == 5600
    assert values["interconnect_bytes_total", "hccs", "receive"] == 2800
    assert values["interconnect_errors_total", "hccs", "crc"] == 3
    assert values["interconnect_errors_total", "hccs", "retry"] == 0
    assert values["link_errors_total", "hccs", "2", "crc"] == 3
    assert values["fabric_state_info", "healthy"] == 1
    assert reading("910b4-x2", 0).absent["interconnect_links",] is Absence.NOT_COLLECTED


def test_links_that_are_not_well() -> None:
    link_pairs = parse_pairs(hccs(lanes=(4, 0), status="NOK", errors=(9, 0)).encode())
    sick = reading("910b4-x2", 0, Detail(links=link_pairs))
    assert sick.values["interconnect_links", "hccs", "down"] == 1
    assert sick.values["link_up", "hccs", "1"] == 0
    assert sick.notes == ("npu-smi calls the HCCS links NOK, first in lane 2",)
    assert evaluate_health(DeviceState.OK, sick, [], 0.0).health is Health.DEGRADED


def without_chips(text: str, word: str) -> ToolOutput:
    """The document of a table in which this stands for each address."""
    plain = re.sub(r"\b0000:\w\w:00\.0\b|(?<=\| )NA(?= {10,}\|)", word.ljust(12), text)
    assert "00.0" not in plain
    return parse_table(plain.encode())


@pytest.mark.parametrize("word", ["NA", "N/A", "-", "--", ""])
@pytest.mark.parametrize("name", ["910b4-x2", "a3", "950", "310"])
def test_a_chip_without_an_address_stays(name: str, word: str) -> None:
    whole = output_of(name)
    bare = without_chips((TABLES / f"{name}.txt").read_text(), word)
    assert [chip.key for chip in bare.chips] == [chip.key for chip in whole.chips]
    assert all(chip.pci_bus_id is None for chip in bare.chips)
    for one, other in zip(bare.chips, whole.chips, strict=True):
        assert read("d", one, Detail()) == read("d", other, Detail())


@pytest.mark.parametrize("word", ["NA", "-", "OK"])
@pytest.mark.parametrize("name", ["910b4-x2", "a3", "950"])
def test_the_line_of_another_chip_is_not_the_second_of_one(name: str, word: str) -> None:
    """A health looks like an address that is not told; here the line and the rule below it are lost."""
    whole = (TABLES / f"{name}.txt").read_text().replace(" OK ", f" {word:<3}")
    lines = whole.splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if ":00.0" in line)
    known = {chip.key: chip.fields for chip in parse_table("".join(lines).encode()).chips}
    cut = parse_table("".join([*lines[:at], *lines[at + 2 :]]).encode())
    assert all(known[chip.key] == chip.fields for chip in cut.chips)


@pytest.mark.parametrize("number", ["-1", "-1.0"])
def test_minus_one_is_no_number(number: str) -> None:
    """Of a temperature it could be one."""
    (chip, *_) = output_of("910b4-x2").chips
    names = ("power(w)", "temp(c)", "aicore(%)", "hbm-usage(mb)")
    assert set(names) <= chip.fields.keys()
    pair = f"{number} / {number}"
    fields = {**chip.fields, **dict.fromkeys(names, number), "hbm-usage(mb)": pair}
    usages = {"hbm temperature(c)": number, "aivector usage rate(%)": number}
    odd = read("d", msgspec.structs.replace(chip, fields=fields), Detail(usages=usages))
    for series in (
        ("temperature_celsius", "gpu"),
        ("temperature_celsius", "memory"),
        ("power_watts",),
        ("utilization_ratio",),
        ("engine_utilization_ratio", "vector"),
        ("memory_used_bytes",),
        ("memory_size_bytes",),
    ):
        assert odd.absent[series] is Absence.ERROR, series


def test_a_temperature_below_zero_is_one() -> None:
    (chip, *_) = output_of("910b4-x2").chips
    cold = msgspec.structs.replace(chip, fields={**chip.fields, "temp(c)": "-11"})
    assert read("d", cold, Detail()).values["temperature_celsius", "gpu"] == -11


def test_a_word_that_is_no_address_is_no_chip() -> None:
    assert without_chips((TABLES / "910b4-x2.txt").read_text(), "broken").chips == ()


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ("[]", Absence.ERROR),
        ("[1 two]", Absence.ERROR),
        ("[1 -2]", Absence.ERROR),
        ("1 2", Absence.ERROR),
        ("NA", Absence.UNSUPPORTED),
        (f"[{' '.join(['1'] * 65)}]", Absence.ERROR),
    ],
)
def test_a_list_of_links_that_is_none_leaves_the_others(entries: str, why: Absence) -> None:
    link_pairs = {"hccs error count": entries, "hccs retry count": "[0 4]"}
    odd = reading("910b4-x2", 0, Detail(links=link_pairs))
    assert odd.absent["interconnect_errors_total", "hccs", "crc"] is why
    assert odd.values["interconnect_errors_total", "hccs", "retry"] == 4
    assert odd.absent["interconnect_links", "hccs", "up"] is Absence.UNSUPPORTED
    assert odd.absent["fabric_state_info",] is Absence.UNSUPPORTED


def test_a_word_for_links_that_nobody_knows_means_nothing() -> None:
    odd = reading("910b4-x2", 0, Detail(links={"hccs health status": "Dozing"}))
    assert odd.absent["fabric_state_info",] is Absence.ERROR
    assert odd.notes == ("npu-smi calls the HCCS links Dozing",)
    assert evaluate_health(DeviceState.OK, odd, [], 0.0).health is Health.OK


def test_the_950_is_queried_by_npu_alone(tmp_path: Path) -> None:
    with opened(tmp_path, "950", usages=True) as (machine, backend):
        polled = Poll(machine.clock)(backend)
    assert not any("-c" in line for line in arguments_used(tmp_path))
    first, _ = readings(polled)
    assert first.values["ecc_errors_total", "corrected"] == 6
    assert first.values["temperature_celsius", "memory"] == 52.0
    device = identities(polled)[0]
    assert (device.serial, device.firmware_version) == ("5CA1AB1E", "9.0.0.105.229")


def test_error_codes_of_chips_that_are_not_well(tmp_path: Path) -> None:
    with opened(tmp_path, "910b3-bad-day") as (machine, backend):
        for _ in range(3):
            polled = Poll(machine.clock)(backend)
            machine.clock.advance(10.0)
        notes = {str(one.identity[0].pci_bus_id): one.readings[0].notes for one in polled}
        (tmp_path / "table").write_text((tmp_path / "table").read_text().replace("Critical", "OK"))
        well = Poll(machine.clock)(backend)
    links, note = notes["0000:c1:00.0"]
    assert links == "npu-smi calls the HCCS links NOK, first in lane 2"
    assert note.startswith("npu-smi reports error codes 80E01801 A6060FFF: node type=HBM")
    assert notes["0000:c2:00.0"] == (), "NA is no code"
    assert notes["0000:41:00.0"] == (), "the command does not tell"
    (kept,) = (one.readings[0].notes for one in well if one.identity[0].index == 0)
    assert kept == (links,), "the codes are gone"


def test_loads_and_clocks_on_wish(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2", usages=True) as (machine, backend):
        silent, telling = readings(Poll(machine.clock)(backend))
    assert telling.values["memory_bandwidth_utilization_ratio",] == pytest.approx(0.67)
    assert telling.values["engine_utilization_ratio", "vector"] == pytest.approx(0.41)
    assert telling.values["clock_hertz", "npu"] == 8e8
    assert telling.values["clock_limit_hertz", "npu", "max"] == 1.65e9
    assert telling.values["temperature_celsius", "memory"] == 52.0
    assert telling.values["clock_hertz", "memory"] == 1.6e9, "of the HBM, which there is"
    assert telling.values["engine_utilization_ratio", "ai_cpu"] == pytest.approx(0.03)
    assert telling.values["engine_utilization_ratio", "control_cpu"] == pytest.approx(0.08)
    assert silent.absent["clock_hertz", "npu"] is Absence.UNSUPPORTED
    unasked = reading("910b4-x2", 0).absent
    assert unasked["clock_hertz", "npu"] is Absence.NOT_COLLECTED


def test_a_wish_that_is_none(tmp_path: Path) -> None:
    refusal = pytest.raises(BackendUnavailable, match="neither true nor false")
    with staged(tmp_path, "910b4-x2", options={"usages": "perhaps"}) as machine, refusal as refused:
        machine.backend().open()
    assert "collect.options.ascend.usages" in refused.value.remedy


def test_an_npu_whose_processes_are_not_reported(tmp_path: Path) -> None:
    with opened(tmp_path, "910b3-bad-day") as (machine, backend):
        polled = {one.found.pci_bus_id: one for one in Poll(machine.clock)(backend)}
    unknown, nobody = polled["0000:02:00.0"], polled["0000:c1:00.0"]
    assert unknown.readings[0].absent["processes",] is Absence.ERROR
    assert nobody.readings[0].processes == ()


def test_processes_were_not_requested(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (_, backend):
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


def test_a_chip_without_a_die_id_goes_by_its_slot(tmp_path: Path) -> None:
    with opened(tmp_path, "910b3-bad-day") as (machine, backend):
        found = identities(Poll(machine.clock)(backend))
    ids = {device.pci_bus_id: (device.id, device.uuid) for device in found}
    assert ids["0000:c1:00.0"] == ("ascend:0000:c1:00.0", None), "all zero is no id"
    assert ids["0000:c2:00.0"] == ("ascend:0000:c2:00.0", None), "the command does not tell"


def test_a_chip_that_hangs_at_its_identity_goes_by_its_slot(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        program = tmp_path / "usr/local/bin/npu-smi"
        script = program.read_text().replace(
            "#!/bin/sh\n", '#!/bin/sh\n[ "$3" = board ] && sleep 60\n'
        )
        write_program(tmp_path, script)
        found = identities(Poll(machine.clock)(backend))
    assert [device.id for device in found] == ["ascend:0000:01:00.0", "ascend:0000:81:00.0"]


def test_the_identity_of_a_chip_is_queried_once(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        before = identities(Poll(machine.clock)(backend))
        (tmp_path / "board-4-0").unlink()
        machine.clock.advance(10.0)
        assert identities(Poll(machine.clock)(backend)) == before


def test_an_unlisted_chip_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "910b4-x2") as (machine, backend):
        lines = (tmp_path / "table").read_text().splitlines(keepends=True)
        (tmp_path / "table").write_text("".join(line for line in lines if "0000:01" not in line))
        machine.clock.advance(10.0)
        gone, there = backend.discover()
        assert backend.identify(there)[0].pci_bus_id == "0000:81:00.0"
        lost = loss(backend, machine.clock, gone)
    assert "npu-smi does not list the NPU at 0000:01:00.0" in str(lost)


def test_a_network_card_of_the_vendor_is_no_npu(tmp_path: Path) -> None:
    with staged(tmp_path, "310p3-duo") as machine:
        (tmp_path / "dev/davinci_manager").unlink()
        backend = machine.backend()
        assert backend.probe().present
        (tmp_path / "sys/bus/pci/devices/0000:81:00.0/class").write_text("0x020000\n")
        assert not backend.probe().present


def test_without_the_command_it_says_what_to_install(tmp_path: Path) -> None:
    with staged(tmp_path, "310") as machine:
        (tmp_path / "usr/local/bin/npu-smi").unlink()
        with pytest.raises(BackendUnavailable, match="npu-smi was found neither") as refused:
            machine.backend().open()
    assert "install" in refused.value.remedy


@pytest.mark.parametrize("status", [0, 245])
def test_complaints_of_the_command_are_reported(tmp_path: Path, status: int) -> None:
    with staged(tmp_path, "310") as machine:
        write_program(tmp_path, f"echo 'dcmi module initialize failed.'; exit {status}")
        backend = machine.backend()
        backend.open()
        with pytest.raises(ReadError, match="dcmi module initialize failed"):
            backend.identify(backend.discover()[0])


def test_logic_ids() -> None:
    rows = (
        b"NPU ID  Chip ID  Chip Logic ID  Chip Name\n4  0  1  Ascend B\n4  1  -  Mcu\n5  0  0  x\n"
    )
    assert parse_mapping(rows) == {(4, 0): 1, (5, 0): 0}
    table = output_of("910b4-x2")
    for logic, numbers in (
        ({(4, 0): 1, (5, 0): 0}, [1, 0]),
        ({(4, 0): 1}, [0, 1]),
        ({(4, 0): 1, (5, 0): 1}, [0, 1]),
        ({}, [0, 1]),
    ):
        assert [chip.number for chip in numbered(table, logic).chips] == numbers
    duo = output_of("310p3-duo")
    swapped = msgspec.structs.replace(duo, chips=duo.chips[::-1])
    assert [chip.number for chip in numbered(swapped, {}).chips] == [1, 0], "the table has them"


@pytest.mark.parametrize("output", [b"", b"hello", b"\xff\xfe", b"|" * 10_000, b"| NPU | Name |\n"])
def test_what_is_no_table_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="npu-smi info printed no table"):
        parse_table(output)


@pytest.mark.parametrize("output", [b"", b"hello\n", b"Health Status : Al"])
def test_what_is_no_list_of_values_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="no list of values"):
        parse_pairs(output)


@pytest.mark.parametrize("file", sorted(path.name for path in TABLES.glob("*.txt")))
@given(data=st.data())
def test_a_table_that_was_cut_or_shuffled_invents_nothing(file: str, data: st.DataObject) -> None:
    whole = (TABLES / file).read_bytes()
    true = {chip.key: read("d", chip, Detail()).values for chip in parse_table(whole).chips}
    jobs = set(parse_table(whole).jobs)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    with contextlib.suppress(ReadError):
        rest = parse_table(cut)
        assert set(rest.jobs) <= jobs
        for chip in rest.chips:
            assert read("d", chip, Detail()).values == true[chip.key]
    lines = data.draw(st.permutations(whole.splitlines()))
    with contextlib.suppress(ReadError):
        shuffled = parse_table(b"\n".join(lines))
        for chip in shuffled.chips:
            read("d", chip, Detail())
        processes_of("d", shuffled.jobs)


_KEYS = ("HBM Single Bit Error Count", "Error Code", "Aicore Freq(MHZ)", "VDie ID", "Aicore Freq")


@given(st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), st.text(max_size=12)))
def test_odd_lists_of_values_raise_nothing_untyped(lines: dict[str, str]) -> None:
    with contextlib.suppress(ReadError):
        odd = parse_pairs(pairs(lines).encode())
        read("d", output_of("310").chips[0], Detail(ecc=odd, usages=odd))


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "driver", "key", "name", "bus", "watts", "celsius", "percent", "used", "size"),
    [
        ("310p3_22.0.0", "22.0.2", (0, 0), "310P3", "86", 16.2, 42, 0, 994, 21534),
        ("910b2_24.1.rc2.1", "24.1.rc2.1", (3, 0), "910B2", "02", 119.9, 45, 9, 61125, 65536),
        ("910b2c_23.0.3", "23.0.3", (12, 0), "910B2C", "d9", 91.3, 53, 0, 52675, 65536),
        ("910b4_24.1.1", "24.1.1", (0, 0), "910B4", "c1", 88.2, 30, 0, 26838, 32768),
        ("910b4_24.1.1", "24.1.1", (1, 0), "910B4", "c2", 87.0, 30, 0, 29356, 32768),
        ("910b4_25.5.2", "25.5.2", (5, 0), "910B4", "41", 89.9, 39, 0, 2922, 32768),
        ("a3_26.0.rc2", "26.0.rc2", (0, 0), "Ascend910", "9d", 162.6, 34, 0, 3419, 65536),
        ("a3_26.0.rc2", "26.0.rc2", (0, 1), "Ascend910", "9f", None, 34, 0, 2874, 65536),
        (
            "a3_ascend910_24.1.rc3.7",
            "24.1.rc3.7",
            (0, 0),
            "Ascend910",
            "9d",
            178.9,
            36,
            0,
            3412,
            65536,
        ),
    ],
)
def test_recorded_tables(
    file: str,
    driver: str,
    key: tuple[int, int],
    name: str,
    bus: str,
    watts: float | None,
    celsius: int,
    percent: int,
    used: int,
    size: int,
) -> None:
    table = parse_table(sample(f"ascend/cli/npu_smi_info_{file}.txt").read_bytes())
    chip = next(chip for chip in table.chips if chip.key == key)
    assert (table.driver_version, table.npus_reporting_jobs) == (driver, None)
    assert (chip.name, chip.pci_bus_id) == (name, f"0000:{bus}:00.0")
    values = read("d", chip, Detail()).values
    assert values.get(("power_watts",)) == (None if watts is None else pytest.approx(watts))
    assert values["temperature_celsius", "gpu"] == celsius
    assert values["utilization_ratio",] == pytest.approx(percent / 100)
    assert values["memory_used_bytes",] == used * MIB
    assert values["memory_size_bytes",] == size * MIB
    assert values["reported_health_info", "ok"] == 1


@pytest.mark.oracle
def test_a_table_that_was_cut_in_a_line() -> None:
    cut = sample("ascend/cli/npu_smi_info_a3_ascend910_24.1.rc3.7.txt").read_bytes()
    assert [chip.key for chip in parse_table(cut).chips] == [(0, 0)]


@pytest.mark.oracle
def test_a_recorded_map() -> None:
    rows = sample("ascend/cli/npu_smi_info_m_910b3.txt").read_bytes()
    assert parse_mapping(rows) == {(0, 0): 0, (1, 0): 1}


@pytest.mark.oracle
def test_recorded_lists_of_values() -> None:
    lines = msgspec.json.decode(sample("ascend/cli/npu_smi_gathered_910b1.json").read_bytes())
    gathered = parse_pairs(pairs(lines).encode())
    chip = output_of("910b4-x2").chips[0]
    values = read("d", chip, Detail(usages=gathered)).values
    assert values["memory_bandwidth_utilization_ratio",] == 0.0
    assert values["engine_utilization_ratio", "vector"] == 0.0
    assert values["clock_hertz", "npu"] == 8e8
    assert values["clock_limit_hertz", "npu", "max"] == 1.85e9
    with_board = identified(NAMELESS, chip, None, gathered, None)
    assert with_board.uuid == "14036E64-00E04F1D-1223F2B2-84528485-104301E2"
    assert (with_board.firmware_version, with_board.serial) == (None, None)


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("dcmi module initialize failed. ret is -8005", "ret is -8005; in a container"),
        (
            "dcmi model initialized failed, because the device is used. ret is -8020",
            "ret is -8020; another container",
        ),
    ],
)
def test_why_npu_smi_has_no_table_is_not_in_its_first_line(message: str, quoted: str) -> None:
    output = f"DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n{message}\n"
    with pytest.raises(ReadError, match=quoted):
        parse_table(output.encode())
