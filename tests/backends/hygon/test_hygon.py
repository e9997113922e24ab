"""What hy-smi and the driver's files say of a DCU, in base units, and what they do not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.proc import HOST_PID_NAMESPACE
from accelwatch_amd import AmdBackend
from accelwatch_hygon import HygonBackend, rounds
from accelwatch_hygon.document import Card, cards_of, health_of, jobs_of, with_health
from accelwatch_hygon.mapping import collect, uuid_of
from accelwatch_hygon.report import fields_of, rows_of
from backends.hygon.machines import HYGON, OUTPUT, stage, write_program
from support.machines.polling import Poll, Polled, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, HygonBackend]]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        assert isinstance(backend, HygonBackend)
        backend.open()
        yield staged, backend
        backend.close()


def polled(folder: Path, name: str) -> list[Polled]:
    with opened(folder, name) as (staged, backend):
        return Poll(staged.clock)(backend)


def read(output: bytes, *, table: bytes = b"", health: str | None = None) -> Reading:
    """Of the first card of some fields and a table."""
    card = cards_of(fields_of(output), rows_of(table))[0]
    return collect("d", msgspec.structs.replace(card, health=health)).reading()


def test_who_a_card_is(tmp_path: Path) -> None:
    polls = polled(tmp_path, "k100ai-x2")
    first, second = identities(polls)
    assert first.id == "hygon:GPU-7100000000000041"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.GPU, "K100_AI", "gfx928")
    assert (first.index, first.name, first.serial) == (0, "dcu0", "TCA00000000001")
    assert (first.vbios_version, first.driver_version) == ("100.00.00.01", "6.3.31-V1.5.0a")
    assert first.numa_node == 4, "the kernel says 0 of every card of such a board"
    assert first.device_nodes == ("/dev/dri/card1", "/dev/dri/renderD128")
    assert (second.index, second.pci_bus_id) == (1, "0000:36:00.0")
    assert first.partition_mode is None
    assert_all_believed(identities(polls), readings(polls))


def test_a_card_at_work(tmp_path: Path) -> None:
    reading = readings(polled(tmp_path, "k100ai-x2"))[0]
    values = reading.values
    assert values["utilization_ratio",] == pytest.approx(0.975)
    assert values["temperature_celsius", "gpu"] == 58.0
    assert values["temperature_celsius", "junction"] == 71.0
    assert values["temperature_celsius", "memory"] == 64.0
    assert values["power_watts",] == 310.0
    assert values["power_limit_watts", "enforced"] == 400.0
    assert values["memory_size_bytes",] == 65520 << 20
    assert values["memory_used_bytes",] == 20413 << 20
    assert values["clock_hertz", "graphics"] == 1.5e9
    assert values["clock_hertz", "memory"] == 1.8e9
    assert values["engine_utilization_ratio", "decoder"] == pytest.approx(0.12)
    assert values["pcie_link_generation", "current"] == 4
    assert values["pcie_link_generation", "max"] == 5
    assert values["reported_health_info", "ok"] == 1
    assert reading.sources["pcie_link_generation"] == "sysfs"
    assert reading.notes == ()


def test_processes_and_their_memory(tmp_path: Path) -> None:
    first, second = readings(polled(tmp_path, "k100ai-x2"))
    alone, shared = first.processes or ()
    assert (alone.pid, alone.gpu_memory_bytes) == (4711, 20300 << 20)
    assert (shared.pid, shared.gpu_memory_bytes) == (4712, None)
    assert shared.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED, "only the sum is told"
    assert [process.pid for process in second.processes or ()] == [4712]


@pytest.mark.parametrize(
    ("namespace", "command"), [(HOST_PID_NAMESPACE, "python3"), ("pid:[4026532001]", None)]
)
def test_a_pid_is_somebody_only_where_pids_are_the_hosts(
    tmp_path: Path, namespace: str, command: str | None
) -> None:
    folder = tmp_path / "proc/4711"
    folder.mkdir(parents=True)
    (folder / "comm").write_text("python3\n")
    (folder / "stat").write_text("4711 (python3) S " + " ".join(["1"] * 49))
    (folder / "status").write_text("Name:\tpython3\nUid:\t0\t0\t0\t0\nVmRSS:\t 100 kB\n")
    (folder / "cgroup").write_text("0::/\n")
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to(namespace)
    process = (readings(polled(tmp_path, "k100ai-x2"))[0].processes or ())[0]
    assert (process.command, process.pid_namespace) == (command, "same" if command else "foreign")


def test_an_old_release_has_its_table_only(tmp_path: Path) -> None:
    polls = polled(tmp_path, "z100-table")
    first, second = readings(polls)
    assert [device.pci_bus_id for device in identities(polls)] == ["0000:04:00.0", "0000:26:00.0"]
    assert identities(polls)[0].driver_version == "6.2.35"
    values = first.values
    assert values["temperature_celsius", "gpu"] == 51.0
    assert (values["power_watts",], values["power_limit_watts", "enforced"]) == (32.0, 300.0)
    assert values["clock_hertz", "memory"] == 1.2e9
    assert values["fan_speed_ratio", "0"] == 0.0
    assert values["utilization_ratio",] == pytest.approx(0.84)
    assert first.absent["memory_used_bytes",] is Absence.UNSUPPORTED, "a share is no size"
    assert first.absent["processes",] is Absence.ERROR
    assert first.absent["reported_status_info",] is Absence.UNSUPPORTED
    assert "order of the bus" in first.notes[0]
    assert second.values["utilization_ratio",] == 0.0


def test_with_other_cards_than_rows_no_row_is_anybodys(tmp_path: Path) -> None:
    with stage(tmp_path, "z100-table") as staged:
        HYGON.lay_out_function(tmp_path, "0000:43:00.0")
        backend = staged.backend()
        backend.open()
        errors = [one.error for one in Poll(staged.clock)(backend) if one.found.pci_bus_id]
    assert [type(error) for error in errors] == [ReadError] * 3


def test_the_drivers_files_report_memory_where_the_command_does_not(tmp_path: Path) -> None:
    with stage(tmp_path, "z100-table") as staged:
        folder = tmp_path / "sys/bus/pci/devices/0000:04:00.0"
        for name, text in (("total", "34342961152"), ("used", "7028736")):
            (folder / f"mem_info_vram_{name}").write_text(f"{text}\n")
        (folder / "unique_id").write_text("71000000000000AB\n")
        backend = staged.backend()
        backend.open()
        first = Poll(staged.clock)(backend)[0]
    assert first.readings[0].values["memory_size_bytes",] == 34342961152
    assert first.readings[0].values["memory_used_bytes",] == 7028736
    assert first.readings[0].sources["memory_used_bytes"] == "sysfs"
    assert first.identity[0].uuid == "GPU-71000000000000ab"


def test_a_bad_day(tmp_path: Path) -> None:
    critical, odd, unlisted = polled(tmp_path, "bw-bad-day")
    first = critical.readings[0]
    assert evaluate_health(DeviceState.OK, first, [], 0.0).health is Health.FAILED
    assert first.values["reported_status_info", "critical"] == 1
    assert first.values["power_watts",] == 80.0, "commas are missing there"
    assert first.values["pcie_errors_total", "replay"] == 147
    assert first.values["temperature_celsius", "gpu"] == 88.0
    assert critical.identity[0].uuid == "TAP00000000001"
    second = odd.readings[0]
    assert (odd.identity[0].uuid, odd.identity[0].serial) == (None, None)
    assert odd.identity[0].partition_mode == "enabled"
    assert second.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert second.absent["utilization_ratio",] is Absence.ERROR
    assert second.absent["memory_used_bytes",] is Absence.ERROR
    assert second.absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    assert second.values["power_watts",] == 95.0
    assert second.values["reported_status_info", "puzzled"] == 1
    assert ("reported_health_info", "ok") not in second.values
    assert type(unlisted.error) is ReadError


@pytest.mark.parametrize(
    ("word", "health"),
    [
        ("Healthy", "ok"),
        ("Warning", "degraded"),
        ("Critical", "failed"),
        ("Unhealthy", "failed"),
        ("Curious", None),
    ],
)
def test_words_of_the_health_check(word: str, health: str | None) -> None:
    reading = read(b'{"card0": {}}', health=word)
    states = [series[1] for series in reading.values if series[0] == "reported_health_info"]
    assert states == ([] if health is None else [health])


@pytest.mark.parametrize(
    ("unique_id", "uuid"),
    [
        ("0x7100F95CEE823041", "GPU-7100f95cee823041"),
        ("7100fa8866904061", "GPU-7100fa8866904061"),
        ("TCA24620040801", "TCA24620040801"),
        ("0000000000000000", None),
        (None, None),
    ],
)
def test_a_unique_id(unique_id: str | None, uuid: str | None) -> None:
    assert uuid_of(unique_id) == uuid


@pytest.mark.parametrize(
    ("key", "size_text", "size"),
    [
        ("vram Total Memory (MiB)", "65520", 65520 << 20),
        ("VRAM Total Memory (B)", "34359738368", 34359738368),
        ("vram Total Memory (KiB)", 1024, 1 << 20),
    ],
)
def test_the_unit_of_memory_stands_in_the_key(key: str, size_text: object, size: int) -> None:
    output = msgspec.json.encode({"card0": {key: size_text}})
    assert read(output).values["memory_size_bytes",] == size


def test_lines_instead_of_json() -> None:
    output = b"HCU[0]\t\t: HCU use (%): 88.5\nHCU[0]\t\t: sclk clock level: 3 (1600Mhz)\n"
    values = read(output + b"DCU[1] : DCU use (%): 50\n").values
    assert values["utilization_ratio",] == pytest.approx(0.885)
    assert values["clock_hertz", "graphics"] == 1.6e9


def test_json_below_a_warning_with_braces() -> None:
    output = b'WARNING: {card0} is slow\n{"card0": {"HCU use (%)": "88.5"}}\nbye\n'
    assert read(output).values["utilization_ratio",] == pytest.approx(0.885)


def test_a_line_that_was_cut_reports_no_number() -> None:
    output = b"HCU[0] : HCU use (%): 88.5\nHCU[0] : Max Graphics Package Power (W): 30"
    assert ("power_limit_watts", "enforced") not in read(output).values
    assert ("power_limit_watts", "enforced") in read(output + b"0.0\n").values


def test_options_that_a_release_does_not_know_are_left_out(tmp_path: Path) -> None:
    text = (
        '#!/bin/sh\necho "$*" >> ROOT/asked\n'
        'case "$*" in *--showvbios*) exit 2 ;; *--json*) cat ROOT/output/fields.json ;; esac\n'
    )
    with stage(tmp_path, "k100ai-x2") as staged:
        write_program(tmp_path, text)
        backend = staged.backend()
        backend.open()
        Poll(staged.clock)(backend)
        staged.clock.advance(10)
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert first.values["power_watts",] == 310.0
    lines = (tmp_path / "asked").read_text().splitlines()
    assert len([line for line in lines if "--showvbios" in line]) == 1


def test_a_card_of_another_vendor_is_not_claimed(tmp_path: Path) -> None:
    """hy-smi and AMD's driver come from one stem; a machine may have both."""
    with stage(tmp_path, "k100ai-x2") as staged:
        other = tmp_path / "sys/bus/pci/devices/0000:36:00.0"
        (other / "vendor").write_text("0x1002\n")
        (other / "uevent").write_text("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:740F\n")
        ours = tmp_path / "sys/bus/pci/devices/0000:09:00.0"
        (ours / "uevent").write_text("DRIVER=hydcu\nPCI_CLASS=38000\nPCI_ID=1D94:6210\n")
        backend = staged.backend()
        backend.open()
        assert [device.pci_bus_id for device in backend.discover()] == ["0000:09:00.0"]
        amd = Stage(AmdBackend, tmp_path).backend()
        assert [device.pci_bus_id for device in amd.discover()] == ["0000:36:00.0"]


@pytest.mark.parametrize(
    ("code", "present"),
    [("0x038000", True), ("0x120000", True), ("0x060000", False), ("0x020000", False)],
)
def test_the_vendors_bridges_and_network_functions_are_no_cards(
    tmp_path: Path, code: str, present: bool
) -> None:
    HYGON.lay_out_function(tmp_path, "0000:01:00.0", code=code)
    assert Stage(HygonBackend, tmp_path).backend().probe().present is present


@pytest.mark.parametrize("output", [b"", b"{}", b"No device", b"\xff\xfe", b'{"card0": 3}', b"[1"])
def test_what_is_no_output_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="neither fields of a card nor its table"):
        cards_of(fields_of(output), rows_of(output))


def test_a_row_with_a_gap_has_only_what_stands_below_its_heading() -> None:
    row = rows_of((OUTPUT / "bw-bad-day/table.txt").read_bytes())[1]
    assert row["vram%"] == "0%"
    assert "pwrcap" not in row


_ANY = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("N/A")
)
_KEYS = st.sampled_from(
    (
        *("PCI Bus", "Unique ID", "HCU use (%)", "vram Total Memory (MiB)", "sclk clock level"),
        *("Temperature (Sensor edge) (C)", "Average Graphics Package Power (W)", "Serial Number"),
    )
)


@given(st.dictionaries(_KEYS, _ANY))
def test_damaged_fields_raise_nothing_and_invent_nothing(fields: dict[str, object]) -> None:
    card = cards_of(fields_of(msgspec.json.encode({"card0": fields})), {})[0]
    reading = collect("d", card).reading()
    assert len(reading.values) <= len(fields)


@given(st.binary(max_size=200), st.integers(0, 2000))
def test_damaged_output_raises_nothing_untyped(noise: bytes, length: int) -> None:
    for file in ("fields.json", "table.txt", "pids.txt", "health.txt"):
        whole = (OUTPUT / "k100ai-x2" / file).read_bytes()
        for output in (noise, whole[:length], whole[:length] + noise):
            with contextlib.suppress(ReadError):
                jobs_of(output)
            with contextlib.suppress(ReadError):
                cards = cards_of(fields_of(output), rows_of(output))
                for card in with_health(cards, health_of(output)):
                    collect("d", card)


@pytest.mark.oracle
def test_recorded_table() -> None:
    rows = rows_of(sample("hygon/cli/hy_smi_dtk26.04.txt").read_bytes())
    (card,) = cards_of({}, rows)
    assert (card.number, card.pci_bus_id) == (0, None)
    reading = collect("d", card).reading()
    assert reading.values == {
        ("temperature_celsius", "gpu"): 33.0,
        ("power_watts",): 132.0,
        ("power_limit_watts", "enforced"): 450.0,
        ("utilization_ratio",): 0.0,
    }


@pytest.mark.oracle
def test_recorded_identities_of_the_runtime() -> None:
    """Another project's detector prints what the vendor's library says; the uuid is the runtime's."""
    entries = msgspec.json.decode(
        sample("hygon/gpustack/detect_output_hygon_k100ai.json").read_bytes()
    )
    for entry in entries:
        unique = entry["uuid"].removeprefix("GPU-")
        fields = {"Unique ID": f"0x{unique}", "PCI Bus": entry["appendix"]["bdf"].upper()}
        output = msgspec.json.encode({f"card{entry['index']}": fields})
        (card,) = cards_of(fields_of(output), {})
        assert uuid_of(card.text("unique id")) == entry["uuid"]
        assert (card.number, card.pci_bus_id) == (entry["index"], entry["appendix"]["bdf"])


def _checked(*lines: tuple[int, str, str]) -> bytes:
    lines_of = (f"HCU[{number}] : Bus Id : {bus} : {word}\n" for number, bus, word in lines)
    return "".join(lines_of).encode()


def _cards(*buses: str | None, by_order: bool = False) -> list[Card]:
    return [
        Card(number=at, pci_bus_id=bus, fields={}, addressed_by_order=by_order)
        for at, bus in enumerate(buses)
    ]


def test_a_line_of_the_health_check_is_of_the_card_at_its_address() -> None:
    """A card is gone, and the check numbers the others anew."""
    output = _checked((0, "0000:41:00.0", "Critical"), (1, "0000:81:00.0", "Healthy"))
    cards = with_health(_cards("0000:01:00.0", "0000:41:00.0", "0000:81:00.0"), health_of(output))
    assert [card.health for card in cards] == [None, "Critical", "Healthy"]


@pytest.mark.parametrize("bus", ["00000000:C1:00.0", "0000:C1:00.0", "c1:00.0"])
def test_addresses_of_the_health_check_are_read_as_releases_write_them(bus: str) -> None:
    (card,) = with_health(_cards("0000:c1:00.0"), health_of(_checked((7, bus, "Healthy"))))
    assert card.health == "Healthy"


@pytest.mark.parametrize(("buses", "by_order"), [((None, None), False), (("a", "b"), True)])
def test_the_index_counts_where_no_address_of_a_card_is_reported(
    buses: tuple[str | None, ...], by_order: bool
) -> None:
    output = _checked((0, "0000:41:00.0", "Critical"), (1, "0000:81:00.0", "Healthy"))
    cards = with_health(_cards(*buses, by_order=by_order), health_of(output))
    assert [card.health for card in cards] == ["Critical", "Healthy"]


def test_what_a_card_says_nothing_of_is_none() -> None:
    card = Card(number=0, pci_bus_id=None, fields={"serial number": "N/A"})
    assert card.text("serial number", "unique id") is None


def test_a_run_that_hangs_is_not_followed_by_another() -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str, **_: object) -> bytes:
        runs.append(arguments)
        if "--json" in arguments:
            return (OUTPUT / "k100ai-x2/fields.json").read_bytes()
        raise DeviceTimeout("did not end", code="timeout")

    document = rounds.Rounds(run, list, lambda _: False).query()
    assert [card.number for card in document.cards] == [0, 1]
    assert document.jobs is None
    assert len(runs) == 2


def test_fields_that_hang_are_an_error() -> None:
    def run(*_: object, **__: object) -> bytes:
        raise DeviceTimeout("did not end", code="timeout")

    with pytest.raises(DeviceTimeout):
        rounds.Rounds(run, list, lambda _: False).query()


def test_a_table_without_cards_says_that_they_are_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "z100-table") as (staged, backend):
        devices = backend.discover()
        table = tmp_path / "output/table.txt"
        table.write_text("".join(table.read_text().splitlines(keepends=True)[:4]))
        staged.clock.advance(10)
        for device in devices:
            assert "does not list the GPU" in str(loss(backend, staged.clock, device))
