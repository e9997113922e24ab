"""Where the devices of recorded machines are: PCI ids, NUMA nodes, links, as other tools told them."""

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Backend, Context
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import Collected
from accelwatch_ascend import AscendBackend
from accelwatch_ascend.document import Detail
from accelwatch_ascend.mapping import read as read_chip
from accelwatch_ascend.table import parse_table as parse_npu_table
from accelwatch_hygon import HygonBackend
from accelwatch_hygon.document import cards_of
from accelwatch_hygon.report import fields_of
from accelwatch_metax import MetaxBackend
from accelwatch_metax.document import document_of
from accelwatch_metax.mapping import collect
from accelwatch_metax.table import parse_table as parse_mx_table
from accelwatch_mthreads import MthreadsBackend
from accelwatch_thead import TheadBackend
from accelwatch_thead.icn import Links, parse_states, record_links
from support.machines.samples import sample

pytestmark = pytest.mark.oracle

MIB = 1 << 20
ACCELERATOR, DISPLAY, SYSTEM, AUDIO, BRIDGE = "120000", "030000", "088000", "040300", "060400"
# With the PCI class that a function of each has; of Hygon the file knows parts of processors only.
VENDORS = {
    "1d0f": ("accelwatch_neuron", "NeuronBackend", SYSTEM),
    "1da3": ("accelwatch_gaudi", "GaudiBackend", ACCELERATOR),
    "1e52": ("accelwatch_tenstorrent", "TenstorrentBackend", ACCELERATOR),
    "1ed2": ("accelwatch_furiosa", "FuriosaBackend", ACCELERATOR),
    "1ed5": ("accelwatch_mthreads", "MthreadsBackend", DISPLAY),
    "1eff": ("accelwatch_rebellions", "RebellionsBackend", ACCELERATOR),
    "1d94": ("accelwatch_hygon", "HygonBackend", BRIDGE),
}


def function(root: Path, bus: str, vendor: str, device: str, code: str, numa: str = "0") -> None:
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True)
    files = {"vendor": vendor, "device": device, "class": code}
    for name, text in files.items():
        (folder / name).write_text(f"0x{text}\n")
    (folder / "numa_node").write_text(f"{numa}\n")


def ids() -> Iterator[list[str]]:
    lines = sample("pci/small_vendor_accelerator_ids.tsv").read_text().splitlines()
    for line in lines[1:]:
        yield line.split("\t")


@pytest.mark.parametrize("vendor_id", VENDORS)
def test_every_recorded_pci_id_is_distinguished_from_the_rest(
    tmp_path: Path, vendor_id: str
) -> None:
    module, name, code = VENDORS[vendor_id]
    factory = getattr(importlib.import_module(module), name)
    rows = [row for row in ids() if row[0] == vendor_id]
    assert rows
    for number, (_, _, device, called) in enumerate(rows):
        root = tmp_path / str(number)
        audio = "Audio" in called
        function(root, "0000:41:00.0", vendor_id, device, AUDIO if audio else code)
        there = factory(Context(root=root)).probe().present
        assert there == (code != BRIDGE and not audio), called


def topology(name: str) -> dict[str, Any]:
    (document,) = json.loads(sample(name).read_text())
    assert isinstance(document, dict)
    return document


def buses_of(name: str) -> list[str]:
    listed = json.loads(sample(name).read_text())
    return list(dict.fromkeys(entry["appendix"]["bdf"] for entry in listed))


MACHINES: list[tuple[type[Backend], str, str, str, list[int]]] = [
    (AscendBackend, "19e5", "ascend", "910b2", [6, 0, 6, 0, 4, 2, 4, 2]),
    (AscendBackend, "19e5", "ascend", "310p3", [2]),
    (HygonBackend, "1d94", "hygon", "k100ai", [0] * 8),
    (MetaxBackend, "9999", "metax", "c500", [0] * 4 + [1] * 4),
    (MthreadsBackend, "1ed5", "mthreads", "s5000", [0, 0, 0, 0, 1, 1, 1, 1]),
    (TheadBackend, "1ded", "thead", "ppu", [4] * 4 + [2] * 4 + [6] * 4 + [0] * 4),
]


@pytest.mark.parametrize(("factory", "vendor", "folder", "model", "nodes"), MACHINES)
def test_numa_nodes_of_recorded_machines(
    tmp_path: Path, factory: Any, vendor: str, folder: str, model: str, nodes: list[int]
) -> None:
    """Two chips of a 310P3 card are one function of the bus."""
    document = topology(f"{folder}/gpustack/topology_output_{folder}_{model}.json")
    numa = document["devices_numa_affinities"]
    if folder == "mthreads" or model == "910b2":
        buses = [f"0000:{number + 16:02x}:00.0" for number in range(len(numa))]
    else:
        buses = buses_of(f"{folder}/gpustack/detect_output_{folder}_{model}.json")
        numa = numa[: len(buses)]
    code = ACCELERATOR if factory in (AscendBackend, HygonBackend) else "030200"
    for bus, node in zip(buses, numa, strict=True):
        function(tmp_path, bus, vendor, "0001", code, node)
    backend = factory(Context(root=tmp_path, clock=ManualClock()))
    assert backend.probe().present
    program = tmp_path / "usr/bin" / _PROGRAMS[folder]
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    backend.open()
    devices = backend.discover()
    backend.close()
    by_bus = {device.pci_bus_id: device.numa_node for device in devices}
    assert [by_bus[bus] for bus in buses] == nodes


_PROGRAMS = {
    "ascend": "npu-smi",
    "hygon": "hy-smi",
    "metax": "mx-smi",
    "mthreads": "mthreads-gmi",
    "thead": "ppu-smi",
}


def test_recorded_nodes_as_hy_smi_would_print_them() -> None:
    numa = topology("hygon/gpustack/topology_output_hygon_k100ai.json")["devices_numa_affinities"]
    fields = {f"card{n}": {"(Topology) Numa Node": node} for n, node in enumerate(numa)}
    cards = cards_of(fields_of(json.dumps(fields).encode()), {})
    assert len(cards) == 8
    for card in cards:
        assert card.text("(topology) numa node", "numa node") == "0"


def test_recorded_links_as_ppu_smi_would_print_them() -> None:
    """Of sixteen PPUs, whose seven links each were all down."""
    entries = topology("thead/gpustack/topology_output_thead_ppu.json")["appendices"]
    lines = [
        f"PPU {number}: PPU-ZW810E\n"
        + "".join(f"    Link {link}: <inactive>\n" for link in range(entry["links_count"]))
        for number, entry in enumerate(entries)
        if entry["links_active_count"] == 0
    ]
    states = parse_states("".join(lines).encode())
    assert sorted(states) == list(range(16))
    out = Collected("d")
    record_links(out, 15, Links(states=states))
    assert out.values["interconnect_links", "icn", "up"] == 0
    assert out.values["interconnect_links", "icn", "down"] == 7


def test_a_recorded_card_of_two_chips_as_npu_smi_would_print_it() -> None:
    """310P3, both healthy: their power is not told."""
    listed = json.loads(sample("ascend/gpustack/detect_output_ascend_310p3.json").read_text())
    head = (
        "| npu-smi 25.2.0                   Version: 25.2.0 |\n"
        "| NPU     Name   | Health | Power(W) Temp(C)     Hugepages-Usage(page) |\n"
        "| Chip    Device | Bus-Id | AICore(%) Memory-Usage(MB) |\n"
    )
    rows = "".join(
        f"| {one['appendix']['card_id']} {one['name']} | OK "
        f"| NA {one['temperature']} 0 / 0 |\n"
        f"| {one['appendix']['device_id']} {one['index']} | {one['appendix']['bdf']} "
        f"| {one['cores_utilization']} {one['memory_used']} / {one['memory']} |\n"
        for one in listed
    )
    first, second = parse_npu_table((head + rows).encode()).chips
    assert (first.key, second.key) == ((4, 0), (4, 1))
    assert (first.pci_bus_id, second.pci_bus_id) == ("0000:81:00.0", None), "one place names one"
    values = read_chip("d", second, Detail()).values
    assert values["memory_size_bytes",] == 43693 * MIB
    assert values["memory_used_bytes",] == 1507 * MIB
    assert values["temperature_celsius", "gpu"] == 45.0
    assert values["utilization_ratio",] == 0.0
    assert values["reported_health_info", "ok"] == 1
    assert read_chip("d", first, Detail()).absent["power_watts",] is Absence.UNSUPPORTED


def test_a_recorded_gpu_as_mx_smi_would_print_it() -> None:
    listed = json.loads(sample("metax/gpustack/detect_output_metax_c500.json").read_text())
    head = (
        "| MX-SMI 2.3.1   Kernel Mode Driver Version: 3.6.11 |\n|--|--|--|\n"
        "| GPU  NAME | Bus-id | GPU-Util |\n| Temp  Power | Memory-Usage |  |\n|==+==+==|\n"
    )
    rows = "".join(
        f"| {one['index']}   {one['name']} | {one['appendix']['bdf']} | {one['cores_utilization']}% |\n"
        f"| {one['temperature']}C   {one['power_used']}W "
        f"| {one['memory_used']}/{one['memory']} MiB |  |\n"
        "+--+--+--+\n"
        for one in listed
    )
    gpus = document_of(parse_mx_table((head + rows).encode()), {}, {}).gpus
    assert len(gpus) == 8
    assert gpus[5].pci_bus_id == "0000:36:00.0"
    values = collect("d", gpus[0]).reading().values
    assert values["memory_size_bytes",] == 65536 * MIB
    assert values["memory_used_bytes",] == 59963 * MIB
    assert values["temperature_celsius", "gpu"] == 36.0
    assert values["power_watts",] == 71.0
    assert values["utilization_ratio",] == 0.0


def test_numbers_of_the_service_of_libtpu() -> None:
    """The client reads messages by these numbers; the rest of the interface is not used."""
    text = sample("tpu/grpc/tpu_metric_service.proto").read_text()
    text = re.sub(r"//[^\n]*", "", text)
    wanted = {
        "MetricRequest": {"metric_name": 1},
        "MetricResponse": {"metric": 1},
        "TPUMetric": {"metrics": 3},
        "Metric": {"attribute": 1, "gauge": 3},
        "Attribute": {"value": 2},
        "AttrValue": {"int_attr": 3},
        "Gauge": {"as_double": 1, "as_int": 2},
    }
    for message, fields in wanted.items():
        body = text.partition(f"message {message} {{")[2].partition("\n}")[0]
        numbers = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+);", body)}
        assert fields.items() <= numbers.items(), message
