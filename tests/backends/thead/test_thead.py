"""What ppu-smi says of a PPU, in base units, and what it does not say."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend.kit.smi.listing import Listing
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_thead import TheadBackend
from accelwatch_thead.icn import parse_counts, parse_states
from accelwatch_thead.instances import parse_instances, read_instance
from accelwatch_thead.vendor import VENDOR
from backends.thead.machines import (
    DOCUMENTS,
    ERRORS,
    STATES,
    TRAFFIC,
    arguments_used,
    staged,
)
from support.machines.polling import Poll, assert_all_believed, identities, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

MIB = 1 << 20
DEVICE = Device(id="d", vendor="thead", backend="thead", index=0, name="ppu0")
TEXT = VENDOR.queries[0].format
PARSERS = {"query": TEXT.parse, "txt": VENDOR.table.parse}


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, TheadBackend]]:
    with staged(folder, name) as machine:
        backend = machine.backend()
        assert isinstance(backend, TheadBackend)
        backend.open()
        yield machine, backend
        backend.close()


def listing_of(file: str) -> Listing:
    return PARSERS[file.rsplit(".", 1)[1]]((DOCUMENTS / file).read_bytes())


def reading(file: str, at: int) -> Reading:
    return VENDOR.reading(DEVICE, listing_of(file).gpus[at])


def of_lines(*lines: str) -> Reading:
    """Of a PPU of which a query says just this."""
    (ppu,) = TEXT.parse("\n".join(("PPU 00000000:08:00.0", *lines, "")).encode()).gpus
    return VENDOR.reading(DEVICE, ppu)


def test_who_a_ppu_is(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-x2") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert first.id == "thead:GPU-5ca1ab1e-0810-0208-0000-000000000000"
    assert (first.kind, first.model, first.architecture) == (
        DeviceKind.GPU,
        "PPU-ZW810E",
        "PPU001",
    )
    assert (first.index, first.name, first.serial) == (0, "ppu0", "810E00000000")
    assert (first.vbios_version, first.driver_version) == ("1.3.2", "2.1.1-rbd225")
    assert (first.pci_bus_id, first.numa_node) == ("0000:a7:00.0", 0)
    assert second.pci_bus_id == "0000:a8:00.0"
    assert_all_believed(identities(polled), readings(polled))


def test_a_ppu_at_work() -> None:
    values = reading("zw810e-x2.query", 0).values
    assert values["utilization_ratio",] == pytest.approx(0.96)
    assert values["engine_utilization_ratio", "encoder"] == 0.0
    assert values["temperature_celsius", "gpu"] == 61.0
    assert values["temperature_celsius", "memory"] == 66.0
    assert values["temperature_limit_celsius", "gpu", "shutdown"] == 95.0
    assert values["temperature_limit_celsius", "gpu", "slowdown"] == 92.0
    assert values["temperature_limit_celsius", "gpu", "max_operating"] == 85.0
    assert values["temperature_limit_celsius", "memory", "max_operating"] == 95.0
    assert values["power_watts",] == pytest.approx(371.4)
    assert values["power_limit_watts", "enforced"] == 400.0
    assert values["power_limit_watts", "min"] == 150.0
    assert values["memory_size_bytes",] == 98304 * MIB
    assert values["memory_used_bytes",] == 91349 * MIB
    assert values["clock_hertz", "sm"] == 1.7e9
    assert values["clock_limit_hertz", "memory", "max"] == 1.8e9
    assert values["pcie_link_generation", "max"] == 5
    assert values["pcie_link_width_lanes", "current"] == 16
    assert values["pcie_errors_total", "replay"] == 3
    assert values["throttle_active", "power"] == 1
    assert values["throttle_active", "thermal_hardware"] == 0
    assert values["clocks_idle",] == 0
    assert values["ecc_enabled",] == 1
    assert values["ecc_errors_total", "corrected"] == 2
    assert values["ecc_errors_total", "uncorrected"] == 0
    assert values["ecc_lifetime_errors", "corrected"] == 4
    assert values["partitioning_enabled",] == 0
    assert values["memory_repair_pending",] == 0
    assert values["memory_repair_failed",] == 0
    assert values["recovery_action_info", "none"] == 1
    assert values["reset_required",] == 0


def test_the_idle_one_is_idle() -> None:
    assert reading("zw810e-x2.query", 1).values["clocks_idle",] == 1


def test_processes_with_the_columns_of_instances(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-x2") as (machine, backend):
        first, second = readings(Poll(machine.clock)(backend))
    assert first.processes is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in first.processes] == [
        (4711, "python3", 91000 * MIB),
        (4800, None, 48 * MIB),
        (4900, "serve", 300 * MIB),
    ]
    assert second.processes == ()


@pytest.mark.parametrize(("at", "health"), [(0, Health.FAILED), (1, Health.FAILED), (2, Health.OK)])
def test_health(at: int, health: Health) -> None:
    assert (
        evaluate_health(DeviceState.OK, reading("zw810e-bad-day.query", at), [], 0.0).health
        is health
    )


def test_memory_that_could_not_be_repaired() -> None:
    values = reading("zw810e-bad-day.query", 0).values
    assert values["ecc_errors_total", "uncorrected"] == 2, "of SRAM and of DRAM"
    assert values["memory_retired_pages", "double_bit"] == 1
    assert values["memory_repair_pending",] == 1
    assert values["memory_repair_failed",] == 1
    assert values["throttle_active", "thermal_hardware"] == 1


def test_a_ppu_that_needs_a_reset() -> None:
    values = reading("zw810e-bad-day.query", 1).values
    assert values["recovery_action_info", "gpu_reset"] == 1
    assert values["reset_required",] == 1


@pytest.mark.parametrize(
    ("lines", "reset", "action"),
    [
        (("PPU Recovery Action : Reboot",), 1, "node_reboot"),
        (("PPU Recovery Action : Drain and Reset",), 1, "drain_and_reset"),
        (("PPU Recovery Action : None",), 0, "none"),
        (("Xid Errors", "    OS Reboot Correctable : 4480"), 1, None),
        (("Xid Errors", "    OS Reboot Correctable : N/A"), None, None),
        (("PPU Recovery Action : N/A",), None, None),
    ],
)
def test_what_the_driver_requests(
    lines: tuple[str, ...], reset: int | None, action: str | None
) -> None:
    found = of_lines(*lines)
    assert found.values.get(("reset_required",)) == reset
    assert found.values.get(("recovery_action_info", action or "")) == (1 if action else None)


def test_what_cannot_be_read_hides_nothing_else() -> None:
    odd = reading("zw810e-bad-day.query", 2)
    assert odd.absent["utilization_ratio",] is Absence.ERROR
    assert odd.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert odd.absent["temperature_celsius", "memory"] is Absence.UNSUPPORTED
    assert odd.absent["power_watts",] is Absence.UNSUPPORTED
    assert odd.absent["power_limit_watts", "enforced"] is Absence.ERROR, "no unit"
    assert odd.absent["ecc_errors_total", "uncorrected"] is Absence.ERROR
    assert odd.absent["throttle_active", "power"] is Absence.ERROR
    assert odd.absent["memory_repair_failed",] is Absence.UNSUPPORTED
    assert odd.absent["reset_required",] is Absence.UNSUPPORTED
    assert odd.values["memory_repair_pending",] == 0, "one of two says no"
    assert odd.values["memory_size_bytes",] == 98304 * MIB


@pytest.mark.parametrize(
    ("pages", "rows", "pending"),
    [
        ("Yes", "No", 1),
        ("No", "Yes", 1),
        ("No", "No", 0),
        ("N/A", "N/A", Absence.UNSUPPORTED),
        ("No", "oops", Absence.ERROR),
        ("Yes", "oops", 1),
    ],
)
def test_whether_memory_waits_for_a_repair(pages: str, rows: str, pending: object) -> None:
    found = of_lines(
        "    Retired Pages",
        f"        Pending Page Blacklist : {pages}",
        "    Remapped Rows",
        f"        Pending : {rows}",
    )
    key = ("memory_repair_pending",)
    assert found.values.get(key, found.absent.get(key)) == pending


def test_one_memory_without_a_counter_adds_nothing() -> None:
    found = of_lines("    ECC Errors", "        Volatile", "            DRAM Correctable : 7")
    assert found.values["ecc_errors_total", "corrected"] == 7
    assert found.absent["ecc_errors_total", "uncorrected"] is Absence.UNSUPPORTED


def test_what_passes_over_pcie_and_the_banks_with_spare_rows() -> None:
    found = of_lines(
        "    PCI",
        "        PPU Link Info",
        "            Link Width",
        "                Max : 16x",
        "        Tx Throughput : 2750 KB/s",
        "        Rx Throughput : 41300 KB/s",
        "    Remapped Rows",
        "        Pending : No",
        "        Bank Remap Availability Histogram",
        "            Max : 2046 bank(s)",
        "            High : 1 bank(s)",
        "            Partial : 0 bank(s)",
        "            Low : 1 bank(s)",
        "            None : N/A",
    )
    assert found.values["pcie_throughput_bytes_per_second", "transmit"] == pytest.approx(2.75e6)
    assert found.values["pcie_throughput_bytes_per_second", "receive"] == pytest.approx(4.13e7)
    banks = {key[1]: value for key, value in found.values.items() if "banks" in key[0]}
    assert banks == {"max": 2046, "high": 1, "partial": 0, "low": 1}


def test_a_command_that_has_only_its_table(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-x12") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    assert [one.identity[0].name for one in polled] == [f"ppu{at}" for at in range(12)]
    last = polled[11]
    assert last.identity[0].id == "thead:0001:1b:00.0"
    values = last.readings[0].values
    assert values["temperature_celsius", "gpu"] == 41.0
    assert values["utilization_ratio",] == pytest.approx(0.11)
    assert values["power_watts",] == 82.0
    assert values["power_limit_watts", "enforced"] == 400.0
    assert values["ecc_errors_total", "uncorrected"] == 3
    assert polled[1].readings[0].values["partitioning_enabled",] == 1
    assert polled[1].readings[0].values["memory_size_bytes",] == 98304 * MIB, "not its instance's"


def test_an_instance_is_a_partition_of_its_ppu(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-x12") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    whole, part = polled[1].identity
    assert part.parent_id == whole.id
    assert (part.partition, part.partition_technology) == ("gi0/ci0", "mig")
    assert (part.id, part.index) == ("thead:MIG-5ca1ab1e-04cc-574b-af7b-cb2e30712105", 5)
    assert (part.name, part.uuid) == ("ppu1-gi0-ci0", "MIG-5ca1ab1e-04cc-574b-af7b-cb2e30712105")
    values = polled[1].readings[1].values
    assert values["memory_used_bytes",] == 106 * MIB
    assert values["memory_size_bytes",] == 33618 * MIB
    assert values["ecc_errors_total", "uncorrected"] == 0
    assert all(len(one.identity) == 1 for one in polled if one is not polled[1])


def test_an_instance_goes_by_its_slot_where_uuids_are_not_reported(tmp_path: Path) -> None:
    with staged(tmp_path, "zw810e-x12") as machine:
        (tmp_path / "ppu.list").unlink()
        backend = machine.backend()
        backend.open()
        polled = Poll(machine.clock)(backend)
        machine.clock.advance(10.0)
        Poll(machine.clock)(backend)
        backend.close()
    assert polled[1].identity[1].id == "thead:0001:11:00.0/gi0/ci0"
    assert arguments_used(tmp_path).count("-L") == 1, "as long as the instances are the same"


def test_the_table_of_instances_as_the_manual_has_it() -> None:
    table = b"""\
| MIG devices:                                                                |
+------------------+---------------------+----------+-------------------------+
| PPU  GI  CI  MIG |        Memory-Usage |      Vol |         Shared          |
+==================+=====================+==========+=========================+
|  1   1   2    3  |     6MiB / 16809MiB |  32    9 |   2     0   0   0   0   |
|  1   1   3    2  |          N/A / lots |  32  N/A |   2     0   0   0   0   |
|  1   1   3    2  |     6MiB / 16809MiB |  32    0 |   2     0   0   0   0   |
| 12   1   x    2  |     6MiB / 16809MiB |  32    0 |   2     0   0   0   0   |
| Processes:                                                                  |
|  1   1   4    4  |     6MiB / 16809MiB |  32    0 |   2     0   0   0   0   |
"""
    first, second = parse_instances(table)
    assert (first.key, first.name) == ((1, 3), "gi1/ci2")
    assert read_instance("d", first).values["ecc_errors_total", "uncorrected"] == 9
    odd = read_instance("d", second)
    assert odd.values == {}
    assert odd.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert odd.absent["memory_size_bytes",] is Absence.ERROR
    assert odd.absent["ecc_errors_total", "uncorrected"] is Absence.UNSUPPORTED


def test_processes_of_an_instance(tmp_path: Path) -> None:
    with staged(tmp_path, "zw810e-x12") as machine:
        table = (tmp_path / "ppu.txt").read_text()
        job = "| 1      0    0    4900     C     /usr/bin/serve                       300MiB  |"
        (tmp_path / "ppu.txt").write_text(
            "\n".join(job if "No running" in line else line for line in table.splitlines())
        )
        backend = machine.backend()
        backend.open()
        whole, part = Poll(machine.clock)(backend)[1].readings
        backend.close()
    for reading_ in (whole, part):
        assert reading_.processes is not None
        assert [process.pid for process in reading_.processes] == [4900]
        assert reading_.processes[0].device_id == reading_.device_id


def test_links_of_a_ppu(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-x2") as (machine, backend):
        early = Poll(machine.clock)(backend)[0].readings[0]
        for _ in range(2):
            machine.clock.advance(10.0)
            first, second = readings(Poll(machine.clock)(backend))
    assert early.values["interconnect_links", "icn", "up"] == 2
    assert early.absent["interconnect_bytes_total",] is Absence.NOT_COLLECTED, "one list a round"
    values = first.values
    assert values["interconnect_links", "icn", "down"] == 1
    assert values["link_up", "icn", "1"] == 0
    assert values["interconnect_errors_total", "icn", "fec_corrected"] == 11
    assert values["interconnect_errors_total", "icn", "receive"] == 7
    assert values["interconnect_errors_total", "icn", "down"] == 1
    assert values["interconnect_errors_total", "icn", "transmit"] == 0, "of the link that tells"
    assert ("link_errors_total", "icn", "3", "transmit") not in values
    assert values["interconnect_bytes_total", "icn", "transmit"] == 1024 * 1024
    assert values["link_bytes_total", "icn", "0", "receive"] == 20480
    assert second.values["interconnect_links", "icn", "up"] == 1, "the odd word says neither"
    assert ("interconnect_bytes_total", "icn", "transmit") not in second.values


def test_a_release_without_links_is_not_queried_for_them_again(tmp_path: Path) -> None:
    with opened(tmp_path, "zw810e-bad-day") as (machine, backend):
        for _ in range(4):
            polled = Poll(machine.clock)(backend)
            machine.clock.advance(10.0)
    assert [line for line in arguments_used(tmp_path) if "icn" in line] == [
        "icn -s",
        "icn -e",
        "icn -gt r",
    ]
    absent = polled[0].readings[0].absent
    assert absent["interconnect_links",] is Absence.UNSUPPORTED
    assert absent["interconnect_errors_total",] is Absence.UNSUPPORTED


@given(data=st.data())
@settings(max_examples=30)
def test_lists_of_links_that_were_cut_or_shuffled_invent_nothing(data: st.DataObject) -> None:
    for text in (ERRORS, TRAFFIC):
        whole = parse_counts(text.encode())
        cut = parse_counts(text[: data.draw(st.integers(0, len(text)))].encode())
        for kind, by_ppu in cut.items():
            for ppu, counts in by_ppu.items():
                assert counts.items() <= whole[kind][ppu].items()
        parse_counts("\n".join(data.draw(st.permutations(text.splitlines()))).encode())
    cut_states = parse_states(STATES[: data.draw(st.integers(0, len(STATES)))].encode())
    for ppu, links in cut_states.items():
        assert links.items() <= parse_states(STATES.encode())[ppu].items()


@pytest.mark.oracle
def test_recorded_numbers_as_ppu_smi_would_print_them() -> None:
    """Another tool's account of a real machine; expected values are those of its first device."""
    file = sample("thead/gpustack/detect_output_thead_ppu.json")
    device = json.loads(file.read_text(encoding="utf-8"))[0]
    found = TEXT.parse(
        f"Driver Version : {device['driver_version']}\n"
        f"PPU 0000{device['appendix']['bdf']}\n"
        f"    Product Name : {device['name']}\n    PPU UUID : {device['uuid']}\n"
        f"    Memory Usage\n        Total : {device['memory']} MiB\n"
        f"        Used : {device['memory_used']} MiB\n"
        f"    Utilization\n        Ppu : {device['cores_utilization']} %\n"
        f"    Temperature\n        PPU Current Temp : {device['temperature']} C\n"
        f"    Power Readings\n        Power Draw : {device['power_used']} W\n"
        f"        Enforced Power Limit : {device['power']} W\n".encode()
    )
    (ppu,) = found.gpus
    assert found.driver_version == "2.1.0-ra1f23041713"
    assert ppu.pci_bus_id == "0000:a8:00.0"
    assert ppu.text(("ppu uuid",)) == "GPU-019e2226-4211-0208-0000-000000ab261d"
    values = VENDOR.reading(DEVICE, ppu).values
    assert values["memory_size_bytes",] == 98304 * MIB
    assert values["memory_used_bytes",] == 91349 * MIB
    assert values["utilization_ratio",] == 0.0
    assert values["temperature_celsius", "gpu"] == 34.0
    assert values["power_watts",] == 93.0
    assert values["power_limit_watts", "enforced"] == 400.0
