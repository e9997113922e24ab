"""Reading expositions: samples a second warm, in a new order and cold, beside prometheus_client;
memory a target; the whole way to devices.
"""

import json
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from accelwatch.exposition import ExpositionReader
from accelwatch.fleet.dialects import ForeignReader
from accelwatch_prometheus import PrometheusExporter

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.machines.composed import snapshot  # noqa: E402

TARGETS = 50
NOW = 1_800_000_000.0


def per_second(samples: int, work: Callable[[], object], runs: int) -> int:
    """Samples a second of processor time, of the median call."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return round(samples / sorted(times)[runs // 2])


def dcgm(devices: int = 8) -> str:
    """A node of eight devices in dcgm-exporter's dialect, pod labels on each series."""
    composed = (ROOT / "fixtures" / "fleet" / "dialects" / "dcgm_legacy.prom").read_text()
    lines = [line for line in composed.splitlines() if "000000000001" in line]
    return "\n".join(
        line.replace("000000000001", f"00000000{number:04d}").replace('gpu="0"', f'gpu="{number}"')
        for line in lines
        for number in range(devices)
    )


def bytes_a_target(text: str, make: Callable[[], ExpositionReader | ForeignReader]) -> int:
    """What one more reader keeps between two scrapes of a body of its own."""
    bodies = [text.replace("GPU-", f"GPU-{number:03d}") for number in range(TARGETS)]
    tracemalloc.start()
    readers = [make() for _ in bodies]
    for reader, body in zip(readers, bodies, strict=True):
        if isinstance(reader, ForeignReader):
            reader.read(body, NOW)
        else:
            reader.read(body)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(held / TARGETS)


def measured(text: str) -> dict[str, object]:
    """All figures of one body."""
    lines = text.split("\n")
    shuffled = []
    for seed in range(20):
        random.Random(seed).shuffle(lines)
        shuffled.append("\n".join(lines))
    warm, turned, devices = ExpositionReader(), ExpositionReader(), ForeignReader()
    samples = len(warm.read(text).keys)
    devices.read(text, NOW)
    order = iter(shuffled * 20)
    turned.read(text)
    return {
        "samples": samples,
        "body_bytes": len(text),
        "warm_per_s": per_second(samples, lambda: warm.read(text), 300),
        "new_order_per_s": per_second(samples, lambda: turned.read(next(order)), 200),
        "cold_per_s": per_second(samples, lambda: ExpositionReader().read(text), 30),
        "prometheus_client_per_s": per_second(
            samples, lambda: list(text_string_to_metric_families(text)), 10
        ),
        "to_devices_per_s": per_second(samples, lambda: devices.read(text, NOW), 300),
        "reader_bytes_a_target": bytes_a_target(text, ExpositionReader),
        "with_devices_bytes_a_target": bytes_a_target(text, ForeignReader),
    }


def main() -> None:
    ours = PrometheusExporter().render(snapshot(), {}).decode()
    print(json.dumps({"accelwatch": measured(ours), "dcgm-exporter": measured(dcgm())}, indent=2))


if __name__ == "__main__":
    main()
