"""What a hub costs that follows many nodes: CPU, memory, lateness, latency of its API.

`hub.py [--nodes N] [--interval S] [--seconds S] [--poll]`: nodes of 8 devices with 86 series each, by
stream, or with --poll by pages of 747 series. Load and hub have a core each. Lateness is that of the
worst arrival of all: of a tick after the moment at which it was due at its node, and of any arrival
after the one before it and an interval. Memory is looked at twenty times; its growth is the slope of
a straight line through the later half.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from sys import executable
from typing import NamedTuple

from hub_processes import (
    HERE,
    HUB_CORE,
    LOAD_CORE,
    Use,
    Window,
    hub_words,
    latencies,
    running,
    share,
    table,
    use,
    wait_for_files,
    wait_for_nodes,
    window,
)

DEVICES = 8
SERIES = 86
PAGE_SERIES = 747
SETTLE_S = 20
LOOKS = 20
QUERIES = 300


class Plan(NamedTuple):
    nodes: int
    interval_s: float
    seconds: float
    poll: bool
    # Between two samples of the archive; 0: none is written.
    history_s: float = 0.0


class Standing(NamedTuple):
    """A hub at work without API clients."""

    uses: list[Use]
    window: Window
    load_percent: float


def arguments() -> Plan:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--interval", type=float, default=None, help="default: 1, with --poll 5")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--poll", action="store_true")
    parser.add_argument(
        "--history", type=float, default=0.0, metavar="SECONDS", help="keep a sample every so often"
    )
    given = parser.parse_args()
    interval_s = given.interval or (5.0 if given.poll else 1.0)
    return Plan(given.nodes, interval_s, given.seconds, given.poll, given.history)


def load_words(plan: Plan, folder: Path) -> list[str]:
    """The load; it writes the file `port` or `targets.json` when it serves."""
    if plan.poll:
        words = [executable, str(HERE / "hub_pages.py"), str(PAGE_SERIES), str(plan.nodes)]
        return [*words, str(folder / "targets.json"), "one"]
    return [executable, str(HERE / "hub_load.py"), str(folder / "port"), str(plan.interval_s)]


def targets(plan: Plan, folder: Path) -> Path:
    """The file of targets, when the load serves."""
    path, port = folder / "targets.json", folder / "port"
    wait_for_files(path if plan.poll else port)
    if not plan.poll:
        base = f"http://127.0.0.1:{port.read_text()}"
        names = [f"n{number:04d}" for number in range(plan.nodes)]
        listed = [{"targets": [f"{base}/{name}"], "labels": {"node": name}} for name in names]
        path.write_text(json.dumps(listed))
    return path


def stand(plan: Plan, folder: Path, hub: int, load: int) -> Standing:
    """Follow for the time that was asked for."""
    before, uses = use(load), [use(hub)]
    for _ in range(LOOKS):
        time.sleep(plan.seconds / LOOKS)
        uses.append(use(hub))
    seen = window(folder, uses[0].at, uses[-1].at)
    return Standing(uses, seen, share(before, use(load)))


def slope(uses: list[Use]) -> float:
    """KiB a minute over the later half."""
    half = uses[len(uses) // 2 :]
    line = statistics.linear_regression([one.at for one in half], [one.rss_mib for one in half])
    return line.slope * 1024 * 60


def standing_rows(plan: Plan, found: Standing) -> list[tuple[str, str, str]]:
    uses, seen = found.uses, found.window
    limit = "60 %" if plan.poll else "50 %"
    late = seen.overdue_s if plan.poll else max(seen.late_s, seen.overdue_s)
    expected = plan.nodes * (uses[-1].at - uses[0].at) / plan.interval_s
    return [
        ("CPU, of one core", f"{share(uses[0], uses[-1]):.1f} %", limit),
        ("memory, history as far as it is written", f"{uses[-1].rss_mib:.0f} MiB", "600 MiB"),
        ("memory over the time, MiB", " ".join(f"{one.rss_mib:.1f}" for one in uses[::4]), ""),
        ("growth over the later half", f"{slope(uses):+.0f} KiB/min", "0"),
        ("worst lateness of any target", f"{late:.2f} s", "1 s"),
        ("arrivals later than 1 s", f"{seen.over_a_second} of {seen.arrivals}", "0"),
        ("arrivals of those due", f"{100 * seen.arrivals / expected:.1f} %", "100 %"),
        ("longest wait for the loop", f"{seen.lag_ms:.0f} ms", ""),
        ("longest turn of the loop, CPU", f"{seen.turn_ms:.0f} ms", "25 ms"),
        ("of that the longest garbage collection", f"{seen.collecting_ms:.0f} ms", ""),
        ("CPU of the load", f"{found.load_percent:.0f} %", "below 100 %"),
    ]


def api_rows(folder: Path, hub: int, at_rest: float) -> list[tuple[str, str, str]]:
    """Latencies while the hub goes on following; `at_rest` is the share of a core without requests."""
    asked = (
        ("all devices", "/v1/devices?limit=20000", 20, "150 ms"),
        (
            "a filtered page of 100",
            "/v1/devices?limit=100&filter=power_watts%3E645",
            QUERIES,
            "20 ms",
        ),
        (
            "a filter that finds nothing",
            "/v1/devices?limit=100&filter=power_watts%3E5000",
            QUERIES,
            "20 ms",
        ),
        ("/v1/fleet", "/v1/fleet", QUERIES, ""),
        ("/v1/nodes", "/v1/nodes?limit=20000", 20, ""),
        ("/metrics", "/metrics", 20, ""),
    )
    rows = []
    for name, path, count, limit in asked:
        before = use(hub)
        try:
            median, p99, worst = latencies(path, count)
        except TimeoutError:
            rows.append((name, "no answer in 30 s", limit))
            continue
        after = use(hub)
        time.sleep(1.1)
        seen = window(folder, before.at, time.monotonic())
        own_ms = 1e3 * (after.cpu_s - before.cpu_s - at_rest * (after.at - before.at)) / count
        shown = f"{median:.1f} / {p99:.1f} / {worst:.1f} ms"
        rows.append((f"{name} (median / p99 / worst of {count})", shown, limit))
        turn = f"{own_ms:.1f} ms; {seen.turn_ms:.0f} ms, collecting {seen.collecting_ms:.0f} ms"
        rows.append(("  CPU a request; longest turn of the loop", turn, "; 25 ms"))
    return rows


def main() -> None:
    """Print the figures."""
    plan = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(load_words(plan, folder), LOAD_CORE) as load:
            every = f"{plan.interval_s:g}s"
            scrape = f"{{mode: poll, scrape_interval: {every}}}" if plan.poll else "{}"
            with running(
                hub_words(folder, targets(plan, folder), scrape, history_s=plan.history_s), HUB_CORE
            ) as hub:
                wait_for_nodes(plan.nodes, hub)
                time.sleep(SETTLE_S)
                found = stand(plan, folder, hub.pid, load.pid)
                # Printed before anything is asked: of 80,000 devices an answer may take its time.
                print(table(title_of(plan), standing_rows(plan, found)), flush=True)
                at_rest = share(found.uses[0], found.uses[-1]) / 100
                print(table("answers meanwhile", api_rows(folder, hub.pid, at_rest)))


def title_of(plan: Plan) -> str:
    way = (
        f"polled every {plan.interval_s:g} s"
        if plan.poll
        else f"a stream each, a tick every {plan.interval_s:g} s"
    )
    kept = f", a sample kept every {plan.history_s:g} s" if plan.history_s else ""
    return (
        f"{plan.nodes} nodes of {DEVICES} devices with {SERIES} series, {way}{kept}, "
        f"{plan.seconds:g} s"
    )


if __name__ == "__main__":
    main()
