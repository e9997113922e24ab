"""What lines of tegrastats say, in layouts of modules and releases, and the command that prints them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import Reading
from accelwatch_jetson import JetsonBackend
from accelwatch_jetson.tegrastats import parse
from backends.jetson.machines import (
    CLIENTS,
    GPU,
    LINE,
    ORIN,
    PRINT_AND_WAIT,
    lay_out,
    lay_out_tegrastats,
)
from support.machines.polling import assert_all_believed
from support.machines.samples import sample
from support.processes.waiting import wait_until

UNSUPPORTED, ERROR, TIMEOUT = Absence.UNSUPPORTED, Absence.ERROR, Absence.TIMEOUT
LOAD, EMC = ("utilization_ratio",), ("memory_controller_utilization_ratio",)
GRAPHICS, MEMORY = ("clock_hertz", "graphics"), ("clock_hertz", "memory")
CLIENTS_AT = "sys/kernel/debug/nvmap/iovmm/clients"


def engine(name: str) -> tuple[str, ...]:
    return ("engine_utilization_ratio", name)


def heat(sensor: str) -> tuple[str, ...]:
    return ("temperature_celsius", sensor)


def rails(text: str) -> dict[str, object]:
    return {rail.name: rail.watts for rail in parse(text).rails}


def recorded(name: str) -> str:
    return sample(f"jetson/tegrastats/{name}.txt").read_text()


def test_the_recorded_line_of_an_agx_orin() -> None:
    text = recorded("orin_agx_jetpack7")
    assert parse(text).values == {
        LOAD: 0.12,
        GRAPHICS: 1_300_000_000,
        EMC: 0.03,
        MEMORY: 3_199_000_000,
        **{
            engine(name): 0.0
            for name in ("encoder", "decoder", "jpeg0", "jpeg1", "vic", "optical_flow")
        },
        **{engine(name): 0.0 for name in ("dla0", "dla1", "pva")},
        heat("soc"): 49.531,
        heat("gpu"): 47.625,
    }
    assert rails(text) == {
        "vdd_gpu_soc": pytest.approx(5.139),
        "vdd_cpu_cv": pytest.approx(3.268),
        "vin_sys_5v0": pytest.approx(5.5),
    }


def test_the_recorded_line_of_a_thor_has_clocks_and_no_load() -> None:
    line = parse(recorded("thor_fragment"))
    assert line.values == {
        LOAD: UNSUPPORTED,
        GRAPHICS: 1_000_000_000,
        EMC: 0.02,
        MEMORY: 1_866_000_000,
    }
    assert line.rails == []


def test_a_line_of_a_thor_has_heat_and_rails_and_no_graphics_field() -> None:
    """JetPack 7: GR3D_FREQ is gone, VDD_GPU feeds the GPU alone, and at rest it may draw less than 0."""
    text = (
        "11-28-2026 09:00:00 RAM 8123/125772MB (lfb 20x4MB) SWAP 0/0MB (cached 0MB) "
        "CPU [3%@972,0%@972,off] EMC_FREQ 1%@4266 cpu@53.7C/54.1C tj@55.1C/55.4C soc012@55.1C/55.4C "
        "soc345@53.7C/54C gpu@-256C VDD_GPU -392mW/-380mW/2362mW "
        "VDD_CPU_SOC_MSS 3924mW/3930mW/6510mW VIN_SYS_5V0 6520mW/6520mW/6600mW "
        "VIN 23050mW/23000mW/24000mW"
    )
    line = parse(text)
    assert line.values == {
        EMC: 0.01,
        MEMORY: 4_266_000_000,
        heat("junction"): 55.1,
        heat("soc"): 55.1,
        heat("gpu"): UNSUPPORTED,
    }
    assert rails(text) == {
        "vdd_gpu": ERROR,
        "vdd_cpu_soc_mss": pytest.approx(3.924),
        "vin_sys_5v0": pytest.approx(6.52),
        "vin": pytest.approx(23.05),
    }
    busy = text.replace("gpu@-256C VDD_GPU -392mW", "gpu@62.906C/63C VDD_GPU 22050mW")
    assert parse(busy).values[heat("gpu")] == 62.906
    assert rails(busy)["vdd_gpu"] == pytest.approx(22.05)


def test_the_recorded_line_of_a_tx2_has_power_without_a_unit() -> None:
    text = recorded("tx2_units_missing")
    assert parse(text).values == {
        LOAD: 0.0,
        GRAPHICS: 140_000_000,
        EMC: 0.0,
        MEMORY: 665_000_000,
        heat("gpu"): 32.0,
        heat("board"): 29.0,
    }
    assert rails(text) == {
        "vdd_in": pytest.approx(1.183),
        "vdd_cpu": pytest.approx(0.152),
        "vdd_gpu": pytest.approx(0.152),
        "vdd_soc": pytest.approx(0.381),
        "vdd_wifi": 0.0,
        "vdd_ddr": pytest.approx(0.192),
    }


@pytest.mark.parametrize(
    ("text", "load", "clock"),
    [
        ("GR3D_FREQ 0%@[114]", 0.0, 114e6),
        ("GR3D_FREQ 62%", 0.62, UNSUPPORTED),
        ("GR3D 45%@921", 0.45, 921e6),
        ("GR3D_FREQ 99%@[1300,306]", 0.99, 1300e6),
        ("GR3D_FREQ @[]", UNSUPPORTED, UNSUPPORTED),
        ("GR3D_FREQ @1300", UNSUPPORTED, 1300e6),
        ("GR3D_FREQ 101%@1300", 1.0, 1300e6),
        ("GR3D_FREQ 102%@1300", ERROR, 1300e6),
        ("GR3D_FREQ -1%@1300", ERROR, 1300e6),
        ("GR3D_FREQ 10%@99999", 0.1, ERROR),
        ("GR3D_FREQ 10%@-1", 0.1, ERROR),
        ("GR3D_FREQ 10%@[1300,1.2.3]", 0.1, ERROR),
        ("GR3D_FREQ 62", ERROR, ERROR),
        ("GR3D_FREQ N/A", ERROR, ERROR),
        ("GR3D_FREQ", ERROR, ERROR),
    ],
)
def test_load_and_clock_of_the_gpu(text: str, load: object, clock: object) -> None:
    assert parse(f"APE 150 {text}").values == {LOAD: load, GRAPHICS: clock}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("NVENC off NVDEC 12%@793", {"encoder": 0.0, "decoder": 0.12}),
        ("NVENC 115 VIC_FREQ 0%@115", {"encoder": UNSUPPORTED, "vic": 0.0}),
        ("MSENC 115 VDE 20%", {"encoder": UNSUPPORTED, "decoder": 0.2}),
        ("NVDLA0 off NVDLA1 7%@614", {"dla0": 0.0, "dla1": 0.07}),
        ("PVA0_FREQ off PVA1_FREQ 3%", {"pva0": 0.0, "pva1": 0.03}),
        ("NVJPG on OFA 8%", {"jpeg": ERROR, "optical_flow": 0.08}),
        ("APE 150 XYZ off EDP limit 0", {}),
    ],
)
def test_engines(text: str, values: dict[str, object]) -> None:
    assert parse(text).values == {engine(name): value for name, value in values.items()}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("gpu@45.5C tj@48C", {"gpu": 45.5, "junction": 48.0}),
        ("GPU@-256C Tboard@29C", {"gpu": UNSUPPORTED, "board": 29.0}),
        ("GPU@-255.9C soc0@-256C soc1@40C soc2@39C", {"gpu": UNSUPPORTED, "soc": 40.0}),
        ("PMIC@100C PMIC@50C thermal@32C CPU@40C iwlwifi@40C", {}),
        ("gpu@200C gpu@x gpu@45", {"gpu": UNSUPPORTED}),
    ],
)
def test_temperatures(text: str, values: dict[str, object]) -> None:
    assert parse(text).values == {heat(sensor): value for sensor, value in values.items()}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("GPU 310/200 CPU [1%@2,off] CPU 620/620", {"gpu": 0.31, "cpu": 0.62}),
        ("POM_5V_GPU 0/0 POM_5V_IN 2500mW/2500mW", {"pom_5v_gpu": 0.0, "pom_5v_in": 2.5}),
        ("VDD_GPU_SOC 3205mW/N/A VDD_CPU_CV 393mW/393mW", {"vdd_cpu_cv": 0.393}),
        ("RAM 1710/7854 RAM 1710/7854MB SWAP 0/3963MB IRAM 0/252kB(lfb 252kB) NC 1/1", {}),
        ("07-25-2026 09:08:28 1/2 3/4", {}),
    ],
)
def test_rails(text: str, values: dict[str, float]) -> None:
    assert rails(text) == pytest.approx(values)


@given(st.lists(st.sampled_from(LINE.split()) | st.text(max_size=6), max_size=30), st.data())
def test_of_a_damaged_line_nothing_is_invented(words: list[str], data: st.DataObject) -> None:
    whole = " ".join(words)
    text = whole[: data.draw(st.integers(0, len(whole)))]
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text, re.ASCII)]
    line = parse(text)
    for series, value in line.values.items():
        if not isinstance(value, Absence) and value != 0:
            scale = {"clock_hertz": 1e-6, "temperature_celsius": 1.0}.get(series[0], 100.0)
            assert any(
                value * scale == pytest.approx(min(number, 100.0) if scale == 100.0 else number)
                for number in numbers
            )
    for rail in line.rails:
        assert rail.watts in [pytest.approx(number / 1000) for number in numbers]


def read(backend: JetsonBackend) -> Reading:
    (device,) = backend.discover()
    (reading,) = backend.read(device, Request())
    assert_all_believed([device], [reading])
    return reading


def backend_over(root: Path, tegrastats: str, **context: object) -> JetsonBackend:
    lay_out(root, ORIN)
    lay_out_tegrastats(root, tegrastats)
    backend = JetsonBackend(Context(root=root, clock=ManualClock(), **context))  # type: ignore[arg-type]
    assert backend.open().source == "sysfs+tegrastats"
    return backend


def test_what_only_tegrastats_knows_stands_beside_what_the_kernel_shows(tmp_path: Path) -> None:
    reading = read(backend_over(tmp_path, PRINT_AND_WAIT, one_shot=True))
    assert reading.values[LOAD] == pytest.approx(0.774)
    assert reading.values[GRAPHICS] == 918_000_000
    assert reading.values[heat("gpu")] == pytest.approx(51.312)
    assert reading.values[heat("board")] == 31.5
    assert (reading.values[EMC], reading.values[MEMORY]) == (0.03, 3_199_000_000)
    assert reading.values[engine("decoder")] == pytest.approx(0.4)
    assert reading.absent[engine("jpeg1")] is UNSUPPORTED
    assert reading.values[("power_component_watts", "vdd_gpu_soc")] == pytest.approx(9.5)
    assert reading.values[("power_component_watts", "vin_sys_5v0")] == pytest.approx(5.5)
    assert reading.sources["memory_controller_utilization_ratio"] == "tegrastats"


def test_what_the_kernel_does_not_show_tegrastats_reports(tmp_path: Path) -> None:
    backend = backend_over(tmp_path, PRINT_AND_WAIT, one_shot=True)
    for path in (f"{GPU}/load", "sys/class/hwmon/hwmon1/in1_input"):
        (tmp_path / path).write_text("N/A")
    reading = read(backend)
    assert reading.values[LOAD] == pytest.approx(0.12)
    assert reading.values[("power_watts",)] == pytest.approx(5.139)


@pytest.mark.parametrize(
    ("text", "why"), [("exit 1", TIMEOUT), ("printf unfinished", TIMEOUT), ("echo hello", ERROR)]
)
def test_without_a_line_the_kernel_is_read_all_the_same(
    tmp_path: Path, text: str, why: Absence
) -> None:
    reading = read(backend_over(tmp_path, text, one_shot=True))
    assert reading.values[LOAD] == pytest.approx(0.774)
    assert reading.absent[EMC] is why
    assert reading.absent[("engine_utilization_ratio",)] is why


def test_a_line_that_has_become_old_is_shown_no_more(tmp_path: Path) -> None:
    backend = backend_over(tmp_path, PRINT_AND_WAIT)
    clock = backend._context.clock
    assert isinstance(clock, ManualClock)
    try:

        def has_spoken() -> bool:
            reading = read(backend)
            return EMC in reading.values or reading.absent[EMC] is not TIMEOUT

        wait_until(has_spoken)
        clock.advance(2.5)
        assert EMC in read(backend).values
        clock.advance(0.1)
        reading = read(backend)
        assert reading.absent[EMC] is TIMEOUT
        assert reading.values[LOAD] == pytest.approx(0.774)
    finally:
        backend.close()


def test_processes_are_the_clients_of_nvmap(tmp_path: Path) -> None:
    lay_out(tmp_path, {**ORIN, CLIENTS_AT: CLIENTS})
    processes = read(JetsonBackend(Context(root=tmp_path))).processes
    assert processes is not None
    assert [(one.pid, one.command, one.gpu_memory_bytes) for one in processes] == [
        (4242, "python3", (524288 + 128) * 1024),
        (4300, "Compositor Thr", 6372 * 1024),
    ]


@pytest.mark.parametrize(("text", "why"), [(None, UNSUPPORTED), ("", ERROR), ("what", ERROR)])
def test_why_there_are_no_processes(tmp_path: Path, text: str | None, why: Absence) -> None:
    lay_out(tmp_path, ORIN if text is None else {**ORIN, CLIENTS_AT: text})
    reading = read(JetsonBackend(Context(root=tmp_path)))
    assert (reading.processes, reading.absent[("processes",)]) == (None, why)
