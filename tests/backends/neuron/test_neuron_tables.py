"""The tables of neuron-ls, the vendor's guide, and what a runtime uses of a device."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Collected, Link
from accelwatch_neuron import NeuronBackend, listing, load
from accelwatch_neuron.listing import Entry
from accelwatch_neuron.load import Use
from backends.neuron.machines import GIB, NEURON_DEVICE, TRN1, lay_out, write_program
from support.machines.packed_trees import FakeTree
from support.machines.samples import sample

TABLE = """\
instance-type: trn1.32xlarge
+--------+--------+----------+--------+-----------+---------+------+--------+-------------+---------+
| NEURON | NEURON |  NEURON  | NEURON | CONNECTED |   PCI   | NUMA |  PID   |   COMMAND   | RUNTIME |
| DEVICE | CORES  | CORE IDS | MEMORY |  DEVICES  |   BDF   | NODE |        |             | VERSION |
+--------+--------+----------+--------+-----------+---------+------+--------+-------------+---------+
| 0      | 2      | 0-1      | 32 GB  | 1         | 10:1c.0 | 1    | 4711   | python3 a.. | 2.0.0   |
|        |        |          |        |           |         |      | 4712   | neuron-ls   | NA      |
+--------+--------+----------+--------+-----------+---------+------+--------+-------------+---------+
| 1      | 2      | 2, 3     | 32 GiB | 0         | 10:1d.0 | -1   |        |             |         |
+--------+--------+----------+--------+-----------+---------+------+--------+-------------+---------+
"""
FIRST = Entry("0000:10:1c.0", 32 * GIB, ((4711, "python3"),), (1,), (0, 1), 1)


def test_a_table() -> None:
    assert listing.parse(TABLE.encode()) == {
        0: FIRST,
        1: Entry("0000:10:1d.0", 32 * GIB, (), (0,), (2, 3)),
    }


@pytest.mark.parametrize(
    ("old", "new", "entry"),
    [
        ("32 GB ", "much  ", FIRST._replace(memory_bytes=None)),
        ("10:1c.0", "nowhere", FIRST._replace(pci_bus_id=None)),
        ("0-1 ", "1-0 ", FIRST._replace(cores=None)),
        ("0-1 ", "0-9999", FIRST._replace(cores=None)),
        ("4711", "what", FIRST._replace(processes=None)),
        ("NUMA", "????", FIRST._replace(numa_node=None)),
        ("| 1    | 4711", "| -1   | 4711", FIRST._replace(numa_node=None)),
    ],
)
def test_one_bad_cell_hides_no_other(old: str, new: str, entry: Entry) -> None:
    assert listing.parse(TABLE.replace(old, new, 1).encode())[0] == entry


@pytest.mark.parametrize("output", ["", "| a |", "+--+\n| NEURON |\n| DEVICE |\n+--+\n| x |\n+--+"])
def test_what_is_no_table(output: str) -> None:
    with pytest.raises(ReadError, match="no JSON and no table"):
        listing.parse(output.encode())


def test_a_command_without_json_is_read_by_its_table(tmp_path: Path) -> None:
    lay_out(tmp_path, TRN1)
    (tmp_path / "table").write_text(TABLE)
    logging = f'echo "$1" >> {tmp_path}/asked'
    no = f'{logging}; case "$1" in --json*|--output*) echo "unknown flag: $1"; exit 1;; esac'
    write_program(tmp_path, f"{no}; exec cat {tmp_path}/table")
    backend = NeuronBackend(Context(root=tmp_path))
    backend.open()
    device = backend.identify(backend.discover()[0])[0]
    (reading,) = backend.read(device, Request())
    backend.close()
    assert (device.pci_bus_id, device.numa_node) == ("0000:10:1c.0", 1)
    assert reading.values[("memory_size_bytes",)] == 32 * GIB
    assert reading.links == (Link(fabric="neuronlink", link="1", remote="0000:10:1d.0"),)
    assert [process.pid for process in reading.processes or ()] == [4711]
    arguments = (tmp_path / "asked").read_text().split()
    assert arguments[:3] == ["--json-output", "--output-format", "--show-all-procs"]


def runtimes(*processes: tuple[int, dict[str, Any], dict[str, Any]]) -> bytes:
    """A record of runtimes: pid, busy share in percent and uses of memory by core."""
    data = [
        {
            "pid": pid,
            "error": "",
            "report": {
                "neuroncore_counters": {
                    "neuroncores_in_use": {
                        core: {"neuroncore_utilization": share} for core, share in busy.items()
                    },
                    "error": "",
                },
                "memory_used": {
                    "neuron_runtime_used_bytes": {
                        "usage_breakdown": {"neuroncore_memory_usage": memory}
                    },
                    "error": "",
                },
            },
        }
        for pid, busy, memory in processes
    ]
    hardware = {"neuroncore_per_device_count": 2, "error": ""}
    return json.dumps({"neuron_runtime_data": data, "neuron_hardware_info": hardware}).encode()


def uses(record: bytes) -> dict[int, Use]:
    parsed = load.parse(record)
    assert parsed is not None
    return parsed.of_processes


def test_what_a_runtime_uses_of_a_device() -> None:
    memory = {"0": {"constants": 100, "tensors": 20}, "1": {"tensors": 3}, "2": {"tensors": 1000}}
    uses_read = uses(runtimes((4711, {"0": 50, "1": 10, "2": 90}, memory)))
    entry = FIRST._replace(processes=((4711, "python3"), (9, "sleep")))
    first, other = listing.processes_of("d", entry, uses_read, (0, 1))
    assert first.gpu_memory_bytes == 123
    assert first.utilization_ratio == pytest.approx(0.3)
    assert first.absent == {}
    assert other.absent == {
        "gpu_memory_bytes": Absence.UNSUPPORTED,
        "utilization_ratio": Absence.UNSUPPORTED,
    }
    (unknown,) = listing.processes_of("d", FIRST, uses_read, ())
    assert unknown.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("busy", "memory"),
    [({"0": "50"}, {"0": {"tensors": -1}}), ({"0": 103}, {"0": "much"}), ({"7": 5}, {"7": {}})],
)
def test_a_use_that_is_not_known_is_an_error(busy: dict[str, Any], memory: dict[str, Any]) -> None:
    (process,) = listing.processes_of("d", FIRST, uses(runtimes((4711, busy, memory))), (0, 1))
    assert (process.gpu_memory_bytes, process.utilization_ratio) == (None, None)
    assert set(process.absent.values()) == {Absence.ERROR}


@pytest.mark.parametrize("folder", ["stats/status", "status"])
def test_counters_of_the_first_releases_stand_elsewhere(tmp_path: Path, folder: str) -> None:
    core = f"{NEURON_DEVICE}/neuron0/neuron_core1"
    lay_out(tmp_path, {**TRN1, f"{core}/{folder}/hw_error/total": "2"})
    backend = NeuronBackend(Context(root=tmp_path))
    backend.open()
    (reading,) = backend.read(backend.discover()[0], Request(processes=False))
    backend.close()
    assert reading.values[("reported_status_info", "hw_error")] == 1


@given(st.binary(max_size=60), st.integers(0, len(TABLE)), st.integers(0, len(TABLE)))
def test_no_table_however_damaged_escapes(noise: bytes, at: int, end: int) -> None:
    whole = TABLE.encode()
    for output in (whole[:at] + noise + whole[at:], whole[:end], whole[at:]):
        try:
            entries = listing.parse(output)
        except ReadError:
            continue
        assert all(0 <= index <= 9999 for index in entries)


NEIGHBOURS = (12, 3, 4, 1), (13, 0, 5, 2), (14, 1, 6, 3), (15, 2, 7, 0)
BENCH = (268911, "neuron-bench")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "cores", "numa", "processes"),
    [
        ("neuron_ls", (0, 1, 2, 3), 1, None),
        ("neuron_ls_wide", None, None, (BENCH,)),
        ("neuron_ls_show_all_procs", None, None, (BENCH,)),
        ("neuron_ls_topology", None, None, None),
    ],
)
def test_the_recorded_tables(
    file: str,
    cores: tuple[int, ...] | None,
    numa: int | None,
    processes: tuple[tuple[int, str], ...] | None,
) -> None:
    entries = listing.parse(sample(f"neuron/cli/{file}.txt").read_bytes())
    assert sorted(entries) == list(range(16))
    assert entries[0] == Entry("0000:cc:00.0", 96 * GIB, processes, (12, 3, 4, 1), cores, numa)
    assert entries[15].pci_bus_id == "0000:f7:00.0"
    assert tuple(entries[index].neighbours for index in range(4)) == NEIGHBOURS
    assert {entry.memory_bytes for entry in entries.values()} == {96 * GIB}
    assert {entry.processes for entry in entries.values()} == {processes}
    if file == "neuron_ls":
        assert entries[4].numa_node == 0
        assert entries[15].cores == (60, 61, 62, 63)


@pytest.mark.oracle
def test_the_list_of_the_guide() -> None:
    text = sample("neuron/cli/neuron_ls_j_docs.jsonc").read_text()
    entries = listing.parse(re.sub(r"^ *\.\.\.\n", "", text, flags=re.MULTILINE).encode())
    process = ((113985, "neuron-bench"),)
    assert entries == {
        0: Entry("0000:cc:00.0", 96 * GIB, process, (12, 3, 4, 1), (0, 1, 2, 3), 1),
        15: Entry("0000:f7:00.0", 96 * GIB, process, (11, 14, 3, 12), (60, 61, 62, 63), 1),
    }


def fragment(name: str) -> Any:
    """One group of the guide's record, without what it leaves out and its comments."""
    parts = sample("neuron/cli/neuron_monitor_doc_fragments.txt").read_text().split("### line")
    (text,) = (part for part in parts if part.partition("\n")[2].startswith(f'"{name}"'))
    text = re.sub(r"^ *(\[\.\.\.\]|\.\.\.)\n", "", text.partition("\n")[2], flags=re.MULTILINE)
    text = re.sub(r",(\s*[}\]])", r"\1", text.strip().rstrip(","))
    if name == "memory_used":
        text = text.replace('}\n  }\n  "loaded', '}\n  }},\n  "loaded')
    return json.loads(f"{{{text}}}")[name]


@pytest.mark.oracle
def test_the_record_of_the_guide() -> None:
    groups = ("neuroncore_counters", "memory_used")
    runtime = {"pid": 4711, "error": "", "report": {name: fragment(name) for name in groups}}
    hardware = fragment("neuron_hardware_info")
    record = {"neuron_runtime_data": [runtime], "neuron_hardware_info": hardware}
    parsed = load.parse(json.dumps(record).encode())
    assert parsed is not None
    out = Collected("d")
    load.collect_load(out, 0, parsed, (0, 1, 2, 3))
    assert out.values == {
        ("core_utilization_ratio", "0"): pytest.approx(0.4201),
        ("core_utilization_ratio", "1"): pytest.approx(0.4202),
        ("core_utilization_ratio", "2"): 0.0,
        ("core_utilization_ratio", "3"): 0.0,
        ("utilization_ratio",): pytest.approx(0.210075),
    }, "cores of the guide's configuration are two of the silicon each, which are told below them"
    assert parsed.of_processes[4711].bytes_on((0, 1)) == 2 * (193986816 + 176285056 + 20971520)


@pytest.mark.oracle
def test_what_the_recorded_runtime_uses() -> None:
    lines = sample("neuron/cli/neuron_monitor_trn1_2xlarge_busy.ndjson").read_bytes().splitlines()
    uses_read = [uses(line) for line in lines]
    assert [list(one) for one in uses_read] == [[1337], [16851], [16851]]
    assert uses_read[0][1337].bytes_on((0, 1)) == 102_298_328, "what the record itself adds up to"
    assert uses_read[1][16851].bytes_on((0, 1)) == 101_876_188
    assert uses_read[0][1337].share((0, 1)) == pytest.approx(0.0068157838)


@pytest.mark.oracle
def test_the_tree_of_the_guide_is_the_one_that_is_read(tmp_path: Path) -> None:
    """Paths by hand from the drawing; a counter is a folder with a `total`, which it does not show."""
    drawing = sample("neuron/sysfs/sysfs_tree_docs_full.txt").read_text()
    core, mem = "neuron_core0/stats", "neuron_core0/stats/memory_usage/device_mem"
    files = {
        "connected_devices": "1, 2\n",
        "info/serial_number": "9ff5434815c8bd80",
        "info/architecture/device_name": "Trainium1",
        "info/architecture/arch_type": "NDv2",
        "stats/hardware/mem_ecc_uncorrected": "1",
        "stats/hardware/mem_ecc_repairable_uncorrected": "2",
        "stats/hardware/sram_ecc_uncorrected": "4",
        f"{core}/status/hw_error/total": "3",
        f"{core}/status/timeout/total": "7",
        f"{core}/other_info/reset_fail_count/total": "1",
        f"{mem}/collectives/total": "1000",
        f"{mem}/dma_rings/total": "200",
        f"{mem}/driver_memory/total": "30",
        f"{mem}/nonshared_scratchpad/total": "4",
    }
    for path in files:
        assert all(part in drawing for part in path.split("/") if part != "total"), path
    tree = FakeTree(tmp_path)
    for path, text in files.items():
        tree.write(f"{NEURON_DEVICE}/neuron0/{path}", text)
    backend = NeuronBackend(Context(root=tmp_path))
    backend.open()
    (device,) = backend.discover()
    (reading,) = backend.read(device, Request())
    backend.close()
    assert (device.serial, device.model) == ("9ff5434815c8bd80", "Trainium1")
    assert reading.values[("ecc_errors_total", "uncorrected")] == 7
    assert reading.values[("memory_used_bytes",)] == 1234
    words = {series[1] for series in reading.values if series[0] == "reported_status_info"}
    assert words == {"hw_error", "reset_fail_count"}
    assert [link.link for link in reading.links] == ["1", "2"]


@pytest.mark.oracle
def test_the_older_tree_of_the_guide(tmp_path: Path) -> None:
    drawing = sample("neuron/sysfs/sysfs_tree_docs.txt").read_text().splitlines()
    assert drawing[0] == f"/{NEURON_DEVICE}/neuron0/neuron_core0/status/"
    assert "├── hw_error/" in drawing
    tree = FakeTree(tmp_path)
    tree.write(f"{drawing[0].lstrip('/')}hw_error/total", "1")
    tree.write(f"{drawing[0].lstrip('/')}hw_error/present", "0")
    backend = NeuronBackend(Context(root=tmp_path))
    backend.open()
    (reading,) = backend.read(backend.discover()[0], Request())
    backend.close()
    assert reading.values[("reported_status_info", "hw_error")] == 1
