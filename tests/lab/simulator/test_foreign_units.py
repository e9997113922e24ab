"""What simulated exporters of others say: their names, units and gaps."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

Start = Callable[..., Any]


def sample(text: str, family: str, **labels: str) -> float | None:
    """A sample; the parser gives every counter the ending `_total`."""
    for one in text_string_to_metric_families(text):
        for line in one.samples:
            if line.name in (family, f"{family}_total") and labels.items() <= line.labels.items():
                return float(line.value)
    return None


def test_dcgm_speaks_in_its_units(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench(dialect="dcgm") as bench:
            bench.clock.advance(100)
            node, now = bench.node("n008"), bench.server.now()
            values = bench.fleet.snapshot(node, now).devices[2].reading.values
            text = await bench.text("n008")
            old = {name: sample(text, f"DCGM_FI_{name}", gpu="2") for name in LEGACY}
            assert old["DEV_SM_CLOCK"] == round(values["clock_hertz", "sm"] / 1e6)
            assert old["DEV_GPU_UTIL"] == round(values["utilization_ratio",] * 100)
            assert old["DEV_FB_USED"] == round(values["memory_used_bytes",] / 2**20)
            assert old["DEV_POWER_USAGE"] == pytest.approx(values["power_watts",], abs=1e-4)
            energy = values["energy_joules_total", "hardware"]
            assert old["DEV_TOTAL_ENERGY_CONSUMPTION"] == round(energy * 1000)
            assert old["DEV_XID_ERRORS"] == 0
            assert 'Hostname="n008"' in text
            assert 'pci_bus_id="00000000:12:00.0"' in text
            new = await bench.text("n008", "/dcgm-4.9/metrics")
            assert sample(new, "DCGM_FI_DEV_SM_CLOCK_HERTZ", gpu="2") == values["clock_hertz", "sm"]
            capacity = sample(new, "DCGM_FI_DEV_FB_CAPACITY_BYTES", gpu="2", hostname="n008")
            assert capacity == values["memory_size_bytes",]
            async with bench.http.get(bench.url("n008", "/v1/snapshot")) as answer:
                assert answer.status == 404

    asyncio.run(run())


LEGACY = (
    "DEV_SM_CLOCK",
    "DEV_GPU_UTIL",
    "DEV_FB_USED",
    "DEV_POWER_USAGE",
    "DEV_TOTAL_ENERGY_CONSUMPTION",
    "DEV_XID_ERRORS",
)


def test_dcgm_has_no_line_for_a_lost_device_and_blanks_for_a_hung_one(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench(dialect="dcgm") as bench:
            bench.clock.advance(130)
            lost, hung = await bench.text("n001"), await bench.text("n002")
            assert sample(lost, "DCGM_FI_DEV_GPU_TEMP", gpu="3") is None
            assert sample(lost, "DCGM_FI_DEV_GPU_TEMP", gpu="2") is not None
            blank = sample(hung, "DCGM_FI_DEV_GPU_TEMP", gpu="0")
            assert blank == float(9223372036854775794)
            since = await bench.text("n002", "/dcgm-4.9/metrics")
            assert sample(since, "DCGM_FI_DEV_GPU_TEMP_CELSIUS", gpu="0") is None
            bench.clock.advance(600)
            again = await bench.text("n001")
            assert sample(again, "DCGM_FI_DEV_XID_ERRORS", gpu="3") == 79

    asyncio.run(run())


def test_all_smi_speaks_in_its_units(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench(dialect="all-smi", vendor="amd") as bench:
            node = bench.node("n008")
            values = bench.fleet.snapshot(node, bench.server.now()).devices[1].reading.values
            text = await bench.text("n008")
            where = {"gpu_index": "1", "instance": "n008", "gpu": "AMD Instinct MI300X"}
            found = sample(text, "all_smi_gpu_utilization", **where)
            assert found == pytest.approx(values["utilization_ratio",] * 100)
            heat = values["temperature_celsius", "junction"]
            assert sample(text, "all_smi_gpu_temperature_celsius", **where) == heat
            assert sample(text, "all_smi_gpu_performance_state") is None
            assert sample(text, "all_smi_gpu_info", type="GPU", **where) == 1

    asyncio.run(run())
