"""Rendering 747 series beside prometheus_client on the same data; size and speed of stream ticks."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.exposition.selection import Selection
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import CompactEncoder, Message
from accelwatch_prometheus.render import Renderer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.machines.composed import snapshot, view


def crowded(one: DeviceView) -> DeviceView:
    """The device with the standing quantities that an H100 lacks, which makes 747 series and more."""
    more: dict[Series, Number] = {
        (key, label): 1
        for key, labels in (
            ("fan_speed_ratio", ("0", "1")),
            ("fan_speed_rpm", ("0", "1")),
            ("memory_retired_pages", ("single_bit", "double_bit")),
        )
        for label in labels
    }
    more[("temperature_headroom_celsius",)] = 20
    more[("interconnect_links", "c2c", "up")] = 1
    values = {**one.reading.values, **more}
    return msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))


def microseconds(work: Callable[[], object], runs: int = 300) -> float:
    """Median time of a call."""
    times: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return round(sorted(times)[runs // 2] * 1e6, 1)


class _Held:
    """The same families as prometheus_client objects, made anew at each scrape as its manual says."""

    def __init__(self, text: str) -> None:
        self._families = list(text_string_to_metric_families(text))

    def collect(self) -> list[object]:
        """Families with their samples."""
        made: list[object] = []
        for family in self._families:
            names = sorted({name for sample in family.samples for name in sample.labels})
            kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
            one = kind(family.name, family.documentation, labels=names)
            for sample in family.samples:
                one.add_metric([sample.labels.get(name, "") for name in names], sample.value)
            made.append(one)
        return made


def main() -> None:
    """Print the figures."""
    shot = snapshot(*(crowded(view(index)) for index in range(8)))
    renderer, chosen = Renderer(), Selection()
    text = renderer.render(shot, chosen)
    registry = CollectorRegistry()
    registry.register(_Held(text))
    ours = microseconds(lambda: renderer.render(shot, chosen))
    theirs = microseconds(lambda: generate_latest(registry), 100)
    encoder = CompactEncoder()
    encoder.messages(shot)
    (tick,) = encoder.messages(shot)
    wire = msgspec.msgpack.encode(tick)
    decoder = msgspec.msgpack.Decoder(Message)
    document = {
        "series": sum(1 for line in text.splitlines() if not line.startswith("#")),
        "render_us": ours,
        "prometheus_client_us": theirs,
        "times_faster": round(theirs / ours, 1),
        "tick_bytes": len(wire),
        "tick_values": len(shot.devices) * len(shot.devices[0].reading.values),
        "tick_encode_us": microseconds(lambda: encoder.messages(shot)),
        "tick_decode_us": microseconds(lambda: decoder.decode(wire), 2000),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
