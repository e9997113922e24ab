"""The firmware's table. No recording of tables 1.4 and later is public: their bytes are packed here from
the structures of the kernel's kgd_pp_interface.h, written down once more as offsets.
"""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.schema.reading import Collected
from accelwatch_amd.gpu_metrics.layouts import LAYOUTS
from accelwatch_amd.gpu_metrics.table import Table, parse, structure_size
from accelwatch_amd.gpu_metrics.telemetry import read_telemetry
from accelwatch_amd.gpu_metrics.throttle import ResidencyMeter, read_throttle
from backends.amd.fuzzing import FUZZ
from support.machines.samples import FIXTURES

# `sizeof` of each structure on a 64-bit kernel.
SIZES = {
    (1, 0): 80,
    (1, 1): 96,
    (1, 2): 104,
    (1, 3): 120,
    (1, 4): 288,
    (1, 5): 360,
    (1, 6): 1664,
    (1, 7): 2208,
    (1, 8): 3872,
    (2, 0): 120,
    (2, 1): 120,
    (2, 2): 128,
    (2, 3): 152,
    (2, 4): 168,
    (3, 0): 264,
}

# Offset, struct code, values.
Patch = tuple[int, str, Any]


def table(revision: tuple[int, int], *patches: Patch) -> bytes:
    """A table with everything "not available" except the patches."""
    size = SIZES[revision]
    content = bytearray(b"\xff" * size)
    struct.pack_into("<HBB", content, 0, size, *revision)
    for offset, code, values in patches:
        several = values if isinstance(values, tuple) else (values,)
        struct.pack_into(f"<{len(several)}{code}", content, offset, *several)
    return bytes(content)


def values_of(content: bytes, architecture: str = "gfx942/CDNA3") -> dict[tuple[str, ...], float]:
    """The series that one table alone gives."""
    found, out = parse(content), Collected("d")
    assert found is not None
    read_telemetry(found, architecture, out)
    read_throttle(found, ResidencyMeter(), 1.0, out)
    return out.values


def test_every_layout_has_the_size_of_its_structure() -> None:
    assert {revision: structure_size(layout) for revision, layout in LAYOUTS.items()} == SIZES


@pytest.mark.parametrize("revision", SIZES)
def test_all_ones_mean_nothing_is_available(revision: tuple[int, int]) -> None:
    found = parse(table(revision))
    assert found == Table(revision=revision, numbers={}, arrays={})
    assert values_of(table(revision)) == {}


def test_table_1_4_of_mi300() -> None:
    content = table(
        (1, 4),
        (4, "H", (71, 60, 55)),
        (10, "H", 1387),
        (12, "H", (99, 44)),
        (16, "H", (10, 30, 0xFFFF, 0xFFFF)),
        (24, "Q", 65536),
        (40, "I", 0b00010),
        (88, "Q", 7),
        (104, "Q", (100, 200)),
        (168, "Q", (300,)),
        (240, "H", (2100, 2050)),
        (280, "H", 1300),
    )
    values = values_of(content)
    assert values["temperature_celsius", "junction"] == 71
    assert values["temperature_celsius", "memory"] == 60
    assert values["power_watts",] == 1387
    assert values["utilization_ratio",] == 0.99
    assert values["memory_bandwidth_utilization_ratio",] == 0.44
    assert values["engine_utilization_ratio", "vcn"] == pytest.approx(0.2)
    assert values["energy_joules_total", "hardware"] == 1
    assert values["pcie_errors_total", "replay"] == 7
    assert values["interconnect_bytes_total", "xgmi", "receive"] == 300 * 1024
    assert values["interconnect_bytes_total", "xgmi", "transmit"] == 300 * 1024
    assert values["link_bytes_total", "xgmi", "1", "receive"] == 200 * 1024
    assert ("link_bytes_total", "xgmi", "2", "receive") not in values
    assert values["clock_hertz", "graphics"] == 2_100_000_000
    assert values["clock_hertz", "memory"] == 1_300_000_000
    assert values["throttle_active", "power"] == 1
    assert values["throttle_active", "thermal_software"] == 0


def test_table_1_5_has_jpeg_engines_and_naks() -> None:
    content = table(
        (1, 5),
        (24, "H", (0,) * 31 + (64,)),
        (88, "Q", 131072),
        (168, "I", (5, 6)),
        (104, "I", 0b10000),
    )
    values = values_of(content)
    assert values["engine_utilization_ratio", "jpeg"] == pytest.approx(0.02)
    assert values["energy_joules_total", "hardware"] == 2
    assert values["pcie_errors_total", "nak_sent"] == 5
    assert values["pcie_errors_total", "nak_received"] == 6
    assert values["throttle_active", "memory_thermal"] == 1


@pytest.mark.parametrize(
    ("revision", "counter", "busy", "energy", "partitions"),
    [((1, 6), 32, 312, 16, 306), ((1, 7), 40, 344, 24, 338), ((1, 8), 40, 344, 24, 338)],
)
def test_tables_1_6_to_1_8_count_residencies(
    revision: tuple[int, int], counter: int, busy: int, energy: int, partitions: int
) -> None:
    def at(ticks: int, power: int) -> bytes:
        return table(
            revision,
            (energy, "Q", 655360),
            (counter, "I", (ticks, 0, power, 0, 0, 0)),
            (partitions, "H", 1),
            (busy, "I", (80, 40)),
        )

    meter, out = ResidencyMeter(), Collected("d")
    for now, content in ((10.0, at(1000, 100)), (12.0, at(3000, 600))):
        found = parse(content)
        assert found is not None
        read_throttle(found, meter, now, out)
    assert out.values["throttle_seconds_total", "power"] == pytest.approx(0.5)
    assert out.values["throttle_active", "power"] == 1
    assert out.values["throttle_seconds_total", "memory_thermal"] == 0
    assert out.values["throttle_active", "memory_thermal"] == 0
    values = values_of(at(3000, 600))
    assert values["core_utilization_ratio", "xcc0"] == 0.8
    assert values["core_utilization_ratio", "xcc1"] == 0.4
    assert values["energy_joules_total", "hardware"] == 10


def test_links_of_table_1_7() -> None:
    values = values_of(table((1, 7), (264, "H", (1, 1, 0, 2))))
    assert values["interconnect_links", "xgmi", "up"] == 2
    assert values["interconnect_links", "xgmi", "down"] == 1
    assert values["link_up", "xgmi", "2"] == 0
    assert ("link_up", "xgmi", "3") not in values


def attributes(*fields: tuple[int, int, tuple[int, ...]]) -> bytes:
    """A table 1.9 of (attribute, type, values); types 0, 2, 4, 6 are unsigned of 1, 2, 4, 8 bytes."""
    body = b"".join(
        struct.pack("<Q", kind << 20 | number << 10 | len(numbers))
        + struct.pack(f"<{len(numbers)}{'BbHhIiQq'[kind]}", *numbers)
        for number, kind, numbers in fields
    )
    return struct.pack("<HBBi", 8 + len(body), 1, 9, len(fields)) + body


TABLE_1_9 = attributes(
    (0, 2, (70,)),
    (1, 2, (0xFFFF,)),
    (3, 2, (1390,)),
    (4, 2, (93,)),
    (5, 2, (31,)),
    (7, 6, (131072,)),
    (29, 6, (100, 0xFFFFFFFFFFFFFFFF)),
    (31, 2, (1, 0)),
    (33, 2, (2100, 2200)),
    (40, 4, (88, 0xFFFFFFFF)),
    (42, 2, (50, 0)),
    (900, 0, (1, 2, 3)),
    (12, 6, (5,)),
)


def test_table_1_9_describes_itself() -> None:
    values = values_of(TABLE_1_9)
    assert values == {
        ("temperature_celsius", "junction"): 70,
        ("power_watts",): 1390,
        ("utilization_ratio",): 0.93,
        ("memory_bandwidth_utilization_ratio",): 0.31,
        ("energy_joules_total", "hardware"): 2,
        ("interconnect_bytes_total", "xgmi", "receive"): 100 * 1024,
        ("link_bytes_total", "xgmi", "0", "receive"): 100 * 1024,
        ("interconnect_links", "xgmi", "up"): 1,
        ("interconnect_links", "xgmi", "down"): 1,
        ("link_up", "xgmi", "0"): 1,
        ("link_up", "xgmi", "1"): 0,
        ("clock_hertz", "graphics"): 2_200_000_000,
        ("core_utilization_ratio", "xcc0"): 0.88,
        ("engine_utilization_ratio", "vcn"): 0.25,
    }
    found = parse(TABLE_1_9)
    assert found is not None
    assert found.numbers["socket_thm_residency_acc"] == 5


def test_table_1_9_ends_at_an_attribute_that_cannot_be_read() -> None:
    content = attributes((0, 2, (70,)), (3, 3, (9,)), (4, 2, (93,)))
    assert values_of(content) == {("temperature_celsius", "junction"): 70}


def test_table_2_1_of_an_apu_is_in_hundredths() -> None:
    content = table((2, 1), (4, "H", (4512, 5001)), (28, "H", (2500, 0)), (40, "H", 15500))
    values = values_of(content, "gfx1103/RDNA3")
    assert values["temperature_celsius", "gpu"] == 45.12
    assert values["temperature_celsius", "soc"] == 50.01
    assert values["utilization_ratio",] == 0.25
    assert values["power_watts",] == 15.5


def test_table_3_0_of_an_apu_counts_activity_in_percent() -> None:
    values = values_of(table((3, 0), (42, "H", (25, 50))), "gfx1150/RDNA3.5")
    assert values["utilization_ratio",] == 0.25
    assert values["engine_utilization_ratio", "vcn"] == 0.5
    beyond = values_of(table((3, 0), (42, "H", (101, 100))), "gfx1150/RDNA3.5")
    assert ("utilization_ratio",) not in beyond
    assert beyond["engine_utilization_ratio", "vcn"] == 1.0


def test_status_bits_that_need_no_knowledge_of_the_chip() -> None:
    bits = {"power": 5, "thermal_hardware": 44, "memory_thermal": 34, "other": 60}
    for reason, bit in bits.items():
        values = values_of(table((2, 2), (120, "Q", 1 << bit)))
        active = [
            series[1] for series, on in values.items() if series[0] == "throttle_active" and on
        ]
        assert active == [reason]


def test_old_status_bits_are_only_distinguished_from_none() -> None:
    assert values_of(table((1, 1), (68, "I", 0)))["throttle_active", "other"] == 0
    assert values_of(table((1, 1), (68, "I", 4)))["throttle_active", "other"] == 1


def test_energy_of_a_radeon_is_not_believed() -> None:
    content = table((1, 3), (24, "Q", 17_691_682))
    assert ("energy_joules_total", "hardware") not in values_of(content, "gfx1030/RDNA2")
    assert values_of(content, "gfx90a/CDNA2")["energy_joules_total", "hardware"] == pytest.approx(
        269.95, abs=0.01
    )
    assert ("energy_joules_total", "hardware") not in values_of(
        table((1, 3), (24, "Q", 0)), "gfx90a/CDNA2"
    )


def test_early_table_1_6_with_other_fields_is_not_read() -> None:
    content = bytearray(table((1, 6)))
    struct.pack_into("<H", content, 0, 384)
    assert parse(bytes(content)) is None


@pytest.mark.parametrize(
    "content", [b"", b"\x78\x00\x01", b"\x78\x00\x01\x63" + bytes(116), bytes(4096)]
)
def test_what_is_no_known_table_is_not_read(content: bytes) -> None:
    assert parse(content) is None


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["rx6900xt", "rx7600s", "rx7800xt", "rx9070"])
def test_recorded_tables_agree_with_hwmon(card: Any, name: str) -> None:
    machine = card(name)
    tree = machine.root / "sys/bus/pci/devices"
    (device,) = list(tree.iterdir())
    found = parse((device / "gpu_metrics").read_bytes())
    (hwmon,) = list((device / "hwmon").iterdir())
    assert found is not None

    def shown(file: str) -> int:
        return int((hwmon / file).read_text().strip("\0\n"))

    assert found.numbers["temperature_edge"] == shown("temp1_input") // 1000
    assert found.numbers["temperature_hotspot"] == pytest.approx(shown("temp2_input") / 1000, abs=1)
    assert found.numbers["average_socket_power"] == pytest.approx(
        shown("power1_average") / 1e6, abs=1
    )
    assert found.numbers["current_uclk"] * 1_000_000 == shown("freq2_input")


def table_contents() -> list[bytes]:
    packed = json.loads((FIXTURES / "amd/mi300x-x2/tree.json").read_text())["files"]
    own = [base64.b64decode(v["b64"]) for k, v in packed.items() if k.endswith("gpu_metrics")]
    return [
        *own,
        TABLE_1_9,
        table((1, 3), (4, "H", (40, 50, 60))),
        table((3, 0), (4, "H", (4000, 4100))),
    ]


@pytest.mark.parametrize("content", table_contents())
def test_a_cut_table_gives_a_part_of_the_whole(content: bytes) -> None:
    whole = values_of(content)
    for length in range(0, len(content), 7):
        found = parse(content[:length])
        if found is None:
            assert length < 8
            continue
        part = values_of(content[:length])
        sums = ("interconnect_bytes_total", "engine_utilization_ratio")
        assert {s: v for s, v in part.items() if s[0] not in sums}.items() <= whole.items()


@FUZZ
@given(
    revision=st.sampled_from(sorted(SIZES)),
    content=st.binary(max_size=4096),
    architecture=st.sampled_from([None, "gfx942/CDNA3", "gfx1100/RDNA3"]),
)
def test_random_tables_stay_within_what_can_be_true(
    revision: tuple[int, int], content: bytes, architecture: str | None
) -> None:
    found = parse(struct.pack("<HBB", SIZES[revision], *revision) + content)
    assert found is not None
    out = Collected("d")
    read_telemetry(found, architecture, out)
    read_throttle(found, ResidencyMeter(), 1.0, out)
    for series, value in out.values.items():
        assert value >= 0
        if series[0].endswith("_ratio"):
            assert value <= 1
        if series[0] == "temperature_celsius":
            assert 0 < value <= 250


@FUZZ
@given(st.binary(max_size=400))
def test_random_attributes_stay_within_what_can_be_true(body: bytes) -> None:
    found = parse(struct.pack("<HBBi", 8 + len(body), 1, 9, 60) + body)
    assert found is not None
    out = Collected("d")
    read_telemetry(found, "gfx942/CDNA3", out)
    assert all(value >= 0 for value in out.values.values())
    assert all(value <= 1 for series, value in out.values.items() if series[0].endswith("_ratio"))


@FUZZ
@given(st.binary(max_size=64))
def test_random_bytes_never_raise(content: bytes) -> None:
    parse(content)
