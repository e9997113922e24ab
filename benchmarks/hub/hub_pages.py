"""The simulator with pages of a given size: `hub_pages.py SERIES NODES TARGETS-FILE [PORTS]`.

Nodes are NVIDIA's with eight devices and values that move; counters of link lanes fill a page up.
"""

import sys
from pathlib import Path

import msgspec

from accelwatch.cli.trial import sim
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot
from accelwatch_lab.simulator.exporters.exposition import Render

render: Render = sim.own_exposition()


def series(text: str) -> int:
    """Sample lines of an exposition."""
    return sum(bool(line) and line[0] != "#" for line in text.split("\n"))


def filled(snapshot: Snapshot, count: int) -> Snapshot:
    """The snapshot with as many further counters, spread over its devices."""
    views = []
    for index, view in enumerate(snapshot.devices):
        values: dict[Series, Number] = dict(view.reading.values)
        for lane in range(index, count, len(snapshot.devices)):
            values["interconnect_errors_total", "nvlink", f"lane_{lane}_crc"] = 10_000 + lane
        views.append(
            msgspec.structs.replace(
                view, reading=msgspec.structs.replace(view.reading, values=values)
            )
        )
    return msgspec.structs.replace(snapshot, devices=tuple(views))


def renderer_of(size: int) -> Render:
    """The exporter of agents, its pages filled up to `size` series."""

    def page(snapshot: Snapshot, openmetrics: bool) -> str:
        missing = size - series(render(snapshot, openmetrics))
        return render(filled(snapshot, missing), openmetrics)

    return page


def main() -> None:
    """Serve until stopped."""
    size, nodes, targets = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    ports = sys.argv[4] if len(sys.argv) > 4 else "many"
    sim.own_exposition = lambda: renderer_of(size)
    sim.run_sim(
        sim.SimPlan(
            nodes=nodes,
            vendor="nvidia",
            listen="127.0.0.1:21000" if ports == "many" else "127.0.0.1:0",
            ports=ports,
            targets_file=targets,
        )
    )


if __name__ == "__main__":
    main()
