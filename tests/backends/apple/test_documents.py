"""Documents of powermetrics, macmon, ioreg and others: all of their forms, damage, recordings."""

import contextlib
import plistlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.node.sampler.turns.contract import sound_readings
from accelwatch_apple import macmon, powermetrics
from accelwatch_apple.identity import machine_of, profile_of, sysctl_values
from accelwatch_apple.mapping import ane_reading, gpu_device, gpu_reading, processes
from accelwatch_apple.owners import Owner, owners
from accelwatch_apple.registry import Accelerator, parse_accelerators, parse_platform
from accelwatch_apple.sample import Sample
from accelwatch_apple.sources import PollResult
from accelwatch_apple.thermal_pressure import pressure_of_state
from accelwatch_apple.unified_memory import used_bytes
from backends.apple.machines import DOCUMENTS
from support.machines.samples import sample

EMPTY = Accelerator(kind=None, model=None, statistics={}, clients=())
MACHINE = machine_of({}, {"hw.memsize": str(1 << 36)}, {})


def composed(name: str) -> bytes:
    return (DOCUMENTS / name).read_bytes()


def plist(document: Any) -> bytes:
    return plistlib.dumps(document)


def known(sample_read: Sample) -> dict[str, object]:
    """What a sample tells, by field."""
    fields = {name: getattr(sample_read, name) for name in Sample.__struct_fields__}
    return {
        name: value
        for name, value in fields.items()
        if value not in (None, Absence.UNSUPPORTED, ())
    }


def believed(
    sample_read: Sample, accelerator: Accelerator = EMPTY, word: str | None = None
) -> None:
    """Whatever was told, its reading is one."""
    device = gpu_device(MACHINE, accelerator)
    result = PollResult(
        accelerators=(accelerator,), sample=sample_read, sampler="powermetrics", pressure=word
    )
    for reading in (gpu_reading(device, MACHINE, result), ane_reading(device, result)):
        assert sound_readings((reading,), (device,), frozenset())
    processes(device, result)


# Composed: an Ultra with several clusters of each kind.
TEXT = b"""Machine model: Mac14,14
OS version: 22G90

*** Sampled system activity (Tue Feb 24 14:58:16 2026 -1000) (502.26ms elapsed) ***

**** Processor usage ****

E0-Cluster Online: 100%
E0-Cluster HW active frequency: 1015 MHz
P0-Cluster HW active residency:   3.04% (702 MHz:   0% 3504 MHz: .13%)
P1-Cluster HW active residency:   3.04% (702 MHz:   0% 3504 MHz: .13%)
CPU Power: 41 mW
GPU Power: 1250 mW
ANE Power: 300 mW
Combined Power (CPU + GPU + ANE): 1591 mW

**** GPU usage ****

GPU HW active frequency: 444 MHz
GPU HW active residency:  12.50% (444 MHz:  12% 612 MHz:   0% 1398 MHz:   0% 1296 MHz:   0%)
GPU SW requested state: (P1 : 100% P2 :   0%)
GPU idle residency:  87.50%
GPU Power: 1250 mW

**** Thermal pressure ****

Current pressure level: Moderate
"""


def test_text_of_several_clusters() -> None:
    sample_read = powermetrics.parse(TEXT)
    assert known(sample_read) == {
        "busy": 0.125,
        "hertz": 444e6,
        "max_hertz": 1398e6,
        "watts": 1.25,
        "ane_watts": pytest.approx(0.3),
        "pressure": "moderate",
    }


def test_of_several_samples_the_last_counts_alone() -> None:
    """What it does not tell is not taken from the one before it."""
    later = (
        TEXT.partition(b"***")[2].replace(b"ANE Power: 300 mW\n", b"").replace(b"12.50%", b"50%")
    )
    sample_read = powermetrics.parse(TEXT + b"***" + later)
    assert (sample_read.busy, sample_read.ane_watts) == (0.5, Absence.UNSUPPORTED)


@pytest.mark.parametrize(
    ("before", "after", "field", "value"),
    [
        (b"GPU HW active", b"GPU active", "busy", 0.125),
        (b"GPU HW active", b"GPU active", "hertz", 444e6),
        (b"12.50%", b"112.50%", "busy", Absence.ERROR),
        (b"frequency: 444 MHz", b"frequency: 0.444 GHz", "hertz", 444e6),
        (b"frequency: 444 MHz", b"frequency: 444", "hertz", Absence.ERROR),
        (b"GPU Power: 1250 mW", b"GPU Power: 1.25 W", "watts", 1.25),
        (b"GPU Power: 1250 mW", b"GPU Power: 1250", "watts", Absence.ERROR),
        (b"GPU Power: 1250 mW", b"GPU Power: -3 mW", "watts", Absence.ERROR),
        (b"GPU Power: 1250 mW", b"GPU Power: N/A", "watts", Absence.UNSUPPORTED),
        (b"Moderate", b"Not available", "pressure", None),
    ],
)
def test_lines_of_the_text(before: bytes, after: bytes, field: str, value: object) -> None:
    assert getattr(powermetrics.parse(TEXT.replace(before, after)), field) == value


GPU: dict[str, Any] = {"freq_hz": 338.0, "idle_ratio": 0.75, "gpu_energy": 250}


@pytest.mark.parametrize(
    ("document", "field", "value"),
    [
        ({"gpu": GPU, "elapsed_ns": 500_000_000}, "watts", 0.5),
        ({"gpu": GPU}, "watts", Absence.UNSUPPORTED),
        ({"gpu": GPU, "elapsed_ns": 0}, "watts", Absence.ERROR),
        ({"gpu": {**GPU, "gpu_power": 70.0}, "processor": {}}, "watts", 0.07),
        ({"gpu": {**GPU, "gpu_power": 70.0}, "processor": {"gpu_power": 80.0}}, "watts", 0.08),
        ({"gpu": GPU, "processor": {"gpu_energy": 100}, "elapsed_ns": 10**9}, "watts", 0.1),
        ({"processor": {"ane_energy": 629}, "elapsed_ns": 500_000_000}, "ane_watts", 1.258),
        ({"processor": {"ane_power": 40, "ane_energy": 1}, "elapsed_ns": 1}, "ane_watts", 0.04),
        ({"gpu": {"freq_hz": 338.0}}, "hertz", 338e6),
        ({"gpu": {"freq_hz": 338_000_000}}, "hertz", 338e6),
        ({"gpu": {"freq_hz": 10**11}}, "hertz", Absence.ERROR),
        ({"gpu": {"idle_ratio": 1.5}}, "busy", Absence.ERROR),
        ({"gpu": {"idle_ratio": 1.0}}, "busy", 0.0),
        ({"gpu": {"idle_ratio": 0.0}}, "busy", 1.0),
        ({"gpu": {"idle_ratio": True}}, "busy", Absence.ERROR),
        ({"gpu": {}}, "busy", Absence.UNSUPPORTED),
        ({"gpu": {"dvfm_states": [{"freq": 338}, {"freq": 1398}, {}, 3]}}, "max_hertz", 1398e6),
        ({"gpu": {"dvfm_states": {}}}, "max_hertz", Absence.UNSUPPORTED),
        ({"thermal_pressure": "Trapping"}, "pressure", "trapping"),
        ({"thermal_pressure": 3}, "pressure", None),
    ],
)
def test_keys_of_the_property_list(document: object, field: str, value: object) -> None:
    field_value = getattr(powermetrics.parse(plist(document)), field)
    assert field_value == (pytest.approx(value) if isinstance(value, float) else value)


def test_of_several_property_lists_the_last_whole_one_counts() -> None:
    first, second = (plist({"gpu": {"idle_ratio": idle}}) for idle in (0.25, 0.5))
    assert powermetrics.parse(first + b"\0" + second + b"\0").busy == 0.5
    assert powermetrics.parse(first + b"\0" + second[:-20]).busy == 0.75


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        ('"gpu_usage": [461, 0.02]', "hertz", 461e6),
        ('"gpu_usage": [461, 0.02]', "busy", Absence.UNSUPPORTED),
        ('"gpu_usage": [461]', "hertz", Absence.UNSUPPORTED),
        ('"gpu_usage": 461', "hertz", Absence.UNSUPPORTED),
        ('"gpu_active_ratio": 1.2', "busy", Absence.ERROR),
        ('"ane_power": "much"', "ane_watts", Absence.ERROR),
        ('"ane_power": null', "ane_watts", Absence.UNSUPPORTED),
        ('"temp": {"gpu_temp_avg": 0.0}', "celsius", Absence.UNSUPPORTED),
        ('"temp": {"gpu_temp_avg": 51.5}', "celsius", 51.5),
        ('"temp": 3', "celsius", Absence.UNSUPPORTED),
        (
            '"fans": [{"rpm": 7}, {"rpm": -1}, {}, 3]',
            "fans_rpm",
            (7.0, Absence.ERROR, Absence.UNSUPPORTED),
        ),
        ('"fans": 3', "fans_rpm", ()),
        ('"memory": {"ram_total": 8, "ram_usage": 5}', "used_bytes", 5.0),
    ],
)
def test_records_of_macmon(record: str, field: str, value: object) -> None:
    sample_read = macmon.parse_pipe(f'{{"gpu_power": 1.0, {record}}}\n'.encode())
    assert (getattr(sample_read, field), sample_read.watts) == (value, 1.0)


def test_of_several_records_the_last_whole_one_counts() -> None:
    assert macmon.parse_pipe(b'{"gpu_power": 1}\n{"gpu_power": 2}\n{"gpu_pow').watts == 2.0


@pytest.mark.parametrize(
    ("parse", "output"),
    [
        (powermetrics.parse, b""),
        (powermetrics.parse, b"powermetrics must be invoked as the superuser\n"),
        (powermetrics.parse, b"<plist><dict><key>gpu</key>"),
        (powermetrics.parse, plist(["gpu"])),
        (powermetrics.parse, b"Machine model: Mac15,13\nCPU Power: 41 mW\n"),
        (macmon.parse_pipe, b""),
        (macmon.parse_pipe, b"[1]"),
        (macmon.parse_pipe, b'{"cpu_power": 1}'),
        (parse_accelerators, b"ioreg: error"),
        (parse_accelerators, b"<plist><array>"),
        (used_bytes, b"Pages free: 1."),
        (pressure_of_state, b"com.apple.system.other 1"),
    ],
)
def test_what_is_none_of_a_command_s_documents_is_refused(
    parse: Callable[[bytes], object], output: bytes
) -> None:
    with pytest.raises(ReadError):
        parse(output)


def test_ioreg_says_the_same_in_both_of_its_forms() -> None:
    (accelerator,) = parse_accelerators(composed("m1-accelerators.txt"))
    statistics = accelerator.statistics
    assert (accelerator.kind, accelerator.model) == ("AGXAcceleratorG13X", "Apple M1 Max")
    assert statistics["In use system memory"] == 745_570_304
    assert statistics["In use system memory (driver)"] == 0
    assert [(one.pid, one.command, one.gpu_ns) for one in accelerator.clients] == [
        (453, "WindowServer", 6_000_000_000),
        (777, "Safari", None),
    ]
    (listed,) = parse_accelerators(composed("m3-max-accelerators.plist"))
    assert (listed.kind, listed.model) == ("AGXAcceleratorG15X", "Apple M3 Max")
    assert listed.statistics["Device Utilization %"] == 63
    assert [(one.pid, one.gpu_ns) for one in listed.clients] == [
        (412, 912_000_000_000),
        (880, 45_000_000_000),
        (901, None),
    ]


def test_two_objects_side_by_side_are_two_accelerators() -> None:
    accelerators = parse_accelerators(composed("m1-accelerators.txt") * 2)
    assert [len(one.clients) for one in accelerators] == [2, 2]


def test_no_accelerator_is_no_error() -> None:
    assert parse_accelerators(b"\n") == ()
    assert parse_accelerators(plist([])) == ()


@pytest.mark.parametrize(
    ("creator", "count"),
    [("pid 0, kernel", 0), ("pid 7", 1), ("pid 99999999999, x", 0), ("nobody", 0), (7, 0)],
)
def test_who_uses_the_gpu(creator: object, count: int) -> None:
    child = {"IOUserClientCreator": creator}
    (accelerator,) = parse_accelerators(plist([{"IORegistryEntryChildren": [child, 3]}]))
    assert len(accelerator.clients) == count


def test_a_name_is_no_longer_than_the_kernel_could_keep_it() -> None:
    child = {"IOUserClientCreator": f"pid 7, {'x' * 1000}"}
    (accelerator,) = parse_accelerators(plist([{"IORegistryEntryChildren": [child]}]))
    assert accelerator.clients[0].command == "x" * 64


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ({}, 85 * 4096),
        ({"Pages purgeable": None}, Absence.UNSUPPORTED),
        ({"Anonymous pages": None}, Absence.UNSUPPORTED),
        ({"Pages purgeable": 1000}, Absence.ERROR),
    ],
)
def test_memory_in_use_is_that_of_activity_monitor(
    lines: dict[str, int | None], value: object
) -> None:
    pages = {
        "Pages free": 9,
        "Anonymous pages": 50,
        "Pages purgeable": 5,
        "Pages wired down": 30,
        "Pages stored in compressor": 40,
        "Pages occupied by compressor": 10,
        **lines,
    }
    text = "".join(f"{name}:   {count}.\n" for name, count in pages.items() if count is not None)
    head = "Mach Virtual Memory Statistics: (page size of 4096 bytes)\n"
    assert used_bytes((head + text).encode()) == value


@pytest.mark.parametrize(
    ("level", "word"),
    [(0, "nominal"), (1, "moderate"), (2, "heavy"), (3, "trapping"), (4, "sleeping"), (5, None)],
)
def test_levels_of_thermal_pressure(level: int, word: str | None) -> None:
    assert pressure_of_state(f"com.apple.system.thermalpressurelevel {level}\n".encode()) == word


@pytest.mark.parametrize(
    ("word", "throttled", "health"),
    [
        ("nominal", 0, "ok"),
        ("moderate", 1, "ok"),
        ("fair", 1, "ok"),
        ("heavy", 1, "degraded"),
        ("serious", 1, "degraded"),
        ("trapping", 1, "degraded"),
        ("sleeping", 1, "degraded"),
        ("critical", 1, "degraded"),
        ("tepid", None, None),
    ],
)
def test_what_words_of_thermal_pressure_mean(
    word: str, throttled: int | None, health: str | None
) -> None:
    result = PollResult(accelerators=(EMPTY,), pressure=word, pressure_from="notifyutil")
    values = gpu_reading(gpu_device(MACHINE, None), MACHINE, result).values
    assert values["reported_status_info", f"thermal pressure {word}"] == 1
    assert values.get(("throttle_active", "thermal_software")) == throttled
    words = [series[1] for series in values if series[0] == "reported_health_info"]
    assert words == ([health] if health else [])


def test_memory_that_macmon_reports_is_used_where_no_other_command_does() -> None:
    sample_read = Sample(memory_bytes=float(1 << 34), used_bytes=float(1 << 33))
    nobody = machine_of({}, {}, {})
    result = PollResult(accelerators=(EMPTY,), sample=sample_read, sampler="macmon")
    reading = gpu_reading(gpu_device(nobody, None), nobody, result)
    assert reading.values["memory_size_bytes",] == 1 << 34
    assert reading.values["memory_used_bytes",] == 1 << 33
    assert reading.sources["memory_used_bytes"] == "macmon"


def test_more_memory_in_use_than_there_is_is_an_error() -> None:
    result = PollResult(accelerators=(EMPTY,), used_bytes=float(1 << 37))
    reading = gpu_reading(gpu_device(MACHINE, None), MACHINE, result)
    assert reading.absent["memory_used_bytes",] is Absence.ERROR


def test_who_a_machine_is_from_any_of_three_commands() -> None:
    platform = parse_platform(composed("m1-platform.txt"))
    values = sysctl_values(composed("m1-sysctl.txt"))
    profile = profile_of(composed("m1-profile.json"))
    whole = machine_of(platform, values, profile)
    assert (whole.serial, whole.model, whole.chip) == (
        "C0MP05ED03",
        "MacBookPro18,2",
        "Apple M1 Max",
    )
    assert (whole.firmware, whole.system, whole.memory_bytes) == ("11881.81.4", "14.7", 1 << 36)
    assert machine_of({}, {}, profile).serial == machine_of(platform, {}, {}).serial == whole.serial
    assert machine_of(parse_platform(composed("m4-platform.plist")), {}, {}).model == "Mac16,10"
    assert machine_of({}, values, {}).identifier == "macbookpro18-2"
    assert machine_of({}, {"hw.memsize": "much"}, {}).memory_bytes is Absence.UNSUPPORTED
    assert machine_of({}, {"hw.memsize": "0"}, {}).memory_bytes is Absence.UNSUPPORTED


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_utc")
def test_whose_processes_are() -> None:
    by_pid = owners(
        composed("processes.txt")
        + b"  9 Mon Foo 16 09:00:55 2026 root\n  8 Sun Feb  1 00:00:00 1970 root\n"
        + b"  7 Mon Nov 16 09:00:55 9999 root extra\nps: an error\n"
    )
    assert by_pid[453] == Owner("_windowserver", 1_794_819_662.0)
    assert by_pid[8] == Owner("root", 31 * 86400.0)
    assert by_pid[9] == Owner("root", None)
    assert 7 not in by_pid


@pytest.mark.parametrize("output", [b"", b"[]", b'{"SPHardwareDataType": []}', b"\xff"])
def test_no_hardware_overview_is_no_error(output: bytes) -> None:
    assert profile_of(output) == {}


_PLAIN = st.none() | st.booleans() | st.integers(-9, 10**13) | st.floats() | st.text(max_size=6)
_ANY = st.recursive(
    _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
_GPU_KEYS = ("freq_hz", "idle_ratio", "gpu_energy", "gpu_power", "dvfm_states")
_DOCUMENT = st.fixed_dictionaries(
    {},
    optional={
        "gpu": st.dictionaries(st.sampled_from(_GPU_KEYS), _ANY) | _ANY,
        "processor": st.dictionaries(
            st.sampled_from(("gpu_power", "ane_power", "ane_energy")), _ANY
        ),
        "elapsed_ns": _ANY,
        "thermal_pressure": _ANY,
    },
)
_RECORD = st.dictionaries(
    st.sampled_from(
        (
            "gpu_power",
            "ane_power",
            "gpu_active_ratio",
            "gpu_freq_mhz",
            "gpu_usage",
            "temp",
            "memory",
        )
    ),
    _ANY | st.fixed_dictionaries({"gpu_temp_avg": _ANY, "ram_total": _ANY, "ram_usage": _ANY}),
)


@settings(max_examples=50)
@given(_DOCUMENT)
def test_damaged_documents_make_nothing_untyped(document: dict[str, object]) -> None:
    believed(powermetrics._of_document(document))


@settings(max_examples=50)
@given(_RECORD)
def test_damaged_records_make_nothing_untyped(record: dict[str, object]) -> None:
    believed(macmon._of_record(record))


@given(
    st.dictionaries(
        st.sampled_from(("Device Utilization %", "In use system memory", "recoveryCount")), _ANY
    ),
    _ANY,
)
def test_damaged_statistics_make_nothing_untyped(statistics: Any, members: Any) -> None:
    believed(Sample(), Accelerator(kind=None, model=None, statistics=statistics, clients=()))
    with contextlib.suppress(ReadError, TypeError, OverflowError, ValueError):
        parse_accelerators(
            plist([{"PerformanceStatistics": members, "IORegistryEntryChildren": members}])
        )


_WHOLE = {
    "m1-accelerators.txt": parse_accelerators,
    "m4-accelerators.plist": parse_accelerators,
    "m3-max-powermetrics.plist": powermetrics.parse,
    "m1-macmon.json": macmon.parse_pipe,
    "m1-vm_stat.txt": used_bytes,
}


@pytest.mark.parametrize("name", _WHOLE)
@given(st.data())
def test_cut_documents_raise_nothing_untyped(name: str, data: st.DataObject) -> None:
    whole = composed(name)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    put = data.draw(st.binary(max_size=4))
    with contextlib.suppress(ReadError):
        _WHOLE[name](whole[:start] + put + whole[end:])


@given(st.permutations(TEXT.splitlines()))
def test_lines_in_another_order_say_the_same(lines: list[bytes]) -> None:
    kept = [line for line in lines if not line.startswith(b"***")]
    assert powermetrics.parse(b"\n".join(kept)) == powermetrics.parse(TEXT)


@pytest.mark.oracle
def test_a_recorded_property_list() -> None:
    sample_read = powermetrics.parse(sample("apple/powermetrics_gpu_power.plist").read_bytes())
    assert known(sample_read) == {
        "busy": pytest.approx(0.152043),
        "hertz": 372_088_000.0,
        "watts": pytest.approx(0.20547355),
    }


@pytest.mark.oracle
def test_a_part_of_a_recorded_property_list() -> None:
    sample_read = powermetrics.parse(sample("apple/powermetrics_plist_fragment.xml").read_bytes())
    assert known(sample_read) == {
        "busy": pytest.approx(0.122657),
        "hertz": 338e6,
        "watts": pytest.approx(0.269614),
    }


@pytest.mark.oracle
def test_the_head_of_a_recorded_text() -> None:
    sample_read = powermetrics.parse(
        sample("apple/powermetrics_gpu_power_m3_head.txt").read_bytes()
    )
    assert known(sample_read) == {
        "busy": 0.2225,
        "hertz": 338e6,
        "max_hertz": 1338e6,
    }


@pytest.mark.oracle
def test_a_recorded_record_of_macmon() -> None:
    """As published, with comments and trailing commas, which the program does not print."""
    text = sample("apple/macmon_pipe.jsonc").read_text(encoding="utf-8")
    plain = re.sub(r",(\s*[}\]])", r"\1", re.sub(r"//.*", "", text))
    sample_read = macmon.parse_pipe(plain.encode())
    assert known(sample_read) == {
        "busy": 0.09,
        "hertz": 461e6,
        "watts": 0.017451683,
        "sram_watts": 0.0009615385,
        "ane_watts": 0.0,
        "celsius": 36.95167,
        "memory_bytes": 25_769_803_776.0,
        "used_bytes": 20_985_479_168.0,
        "fans_rpm": (999.0, 1200.0),
    }
