"""The hub beside Prometheus 2.42, both scraping the same pages at the same time on one core.

`hub_against_prometheus.py [--targets N] [--series N] [--seconds S] [--warm-up S] [--busy N]`. Prometheus
stores every sample on disk (a write-ahead log and blocks) and answers PromQL over it; the hub keeps the
state of each device and 15 minutes of six quantities in memory. Compared is what following costs.
On a busy machine (`--busy 2`) both share their core and its caches with loops that never rest.
"""

import argparse
import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from sys import executable
from typing import NamedTuple

from hub_processes import (
    HERE,
    HUB_CORE,
    LOAD_CORE,
    Use,
    ask,
    hub_words,
    running,
    share,
    table,
    use,
    wait_for_files,
    wait_for_nodes,
    window,
)

INTERVAL_S = 5
PROMETHEUS_PORT = 19090
APPENDED = "prometheus_tsdb_head_samples_appended_total"
LOOKS = 12


class Both(NamedTuple):
    """The two at the same moments."""

    hub: list[Use]
    prometheus: list[Use]
    appended: tuple[float, float]
    load_percent: float


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=256)
    parser.add_argument("--series", type=int, default=747)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--warm-up", type=float, default=60)
    parser.add_argument(
        "--busy", type=int, default=0, help="endless loops beside, a core after the other"
    )
    return parser.parse_args()


def prometheus_words(program: str, folder: Path, targets: Path) -> list[str]:
    """Prometheus with its own defaults, but for the interval and where things are."""
    config = folder / "prometheus.yaml"
    config.write_text(
        f"global: {{scrape_interval: {INTERVAL_S}s, scrape_timeout: {INTERVAL_S}s}}\n"
        f"scrape_configs: [{{job_name: nodes, file_sd_configs: [{{files: ['{targets}']}}]}}]\n"
    )
    return [
        *(program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"),
        *(f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}", "--log.level=error"),
    ]


def appended() -> float:
    """Samples that Prometheus has taken since its start."""
    text = ask("/metrics", PROMETHEUS_PORT)[1].decode()
    lines = [line for line in text.splitlines() if line.startswith(APPENDED)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many loops that never rest, the first on the core of the hub."""
    cores = itertools.cycle((HUB_CORE, LOAD_CORE))
    with contextlib.ExitStack() as loops:
        for core in itertools.islice(cores, count):
            loops.enter_context(running([executable, "-c", "while True: pass"], core))
        yield


def watch(hub: int, prometheus: int, load: int, seconds: float) -> Both:
    """Both, side by side, for a time."""
    before, first = use(load), appended()
    ours, theirs = [use(hub)], [use(prometheus)]
    for _ in range(LOOKS):
        time.sleep(seconds / LOOKS)
        ours.append(use(hub))
        theirs.append(use(prometheus))
    return Both(ours, theirs, (first, appended()), share(before, use(load)))


def figures(samples: float, uses: list[Use]) -> tuple[float, float, float]:
    """Microseconds of CPU a sample, greatest MiB resident and proportional."""
    cpu_s = uses[-1].cpu_s - uses[0].cpu_s
    return 1e6 * cpu_s / samples, max(one.rss_mib for one in uses), max(one.pss_mib for one in uses)


def report(given: argparse.Namespace, found: Both, arrivals: int, late_s: float) -> str:
    taken = found.appended[1] - found.appended[0]
    ours = figures(arrivals * given.series, found.hub)
    theirs = figures(taken, found.prometheus)
    units = ("CPU a sample", "us"), ("memory resident (greatest)", "MiB"), ("memory, PSS", "MiB")
    rows = [
        (f"{name}: hub / Prometheus", f"{hub:.2f} / {other:.2f} {unit}: {hub / other:.2f}x", "1.0x")
        for (name, unit), hub, other in zip(units, ours, theirs, strict=True)
    ]
    shares = share(found.hub[0], found.hub[-1]), share(found.prometheus[0], found.prometheus[-1])
    rows += [
        ("CPU, of one core: hub / Prometheus", f"{shares[0]:.1f} / {shares[1]:.1f} %", ""),
        ("samples taken: hub / Prometheus", f"{arrivals * given.series} / {taken:.0f}", ""),
        ("worst lateness of a poll of the hub", f"{late_s:.2f} s", ""),
        ("CPU of the load, of the other core", f"{found.load_percent:.0f} %", "below 100 %"),
    ]
    title = (
        f"{given.targets} targets of {given.series} series every {INTERVAL_S} s, {given.seconds:g} s"
        f" after {given.warm_up:g} s of warm-up; both on one core"
        f"{f', beside {given.busy} busy loops' if given.busy else ''}.\n"
        "Prometheus stores what it scrapes, the hub keeps state and 15 minutes of six quantities"
        " a device."
    )
    return table(title, rows)


def main() -> None:
    """Print the figures."""
    program = shutil.which("prometheus")
    if program is None:
        raise SystemExit("there is no prometheus here: apt-get install prometheus")
    given = arguments()
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    print((shown.stdout or shown.stderr).splitlines()[0], f"{os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = folder / "targets.json"
        words = [executable, str(HERE / "hub_pages.py"), str(given.series), str(given.targets)]
        scrape = f"{{mode: poll, scrape_interval: {INTERVAL_S}s}}"
        with running([*words, str(targets)], LOAD_CORE) as load:
            wait_for_files(targets)
            theirs = prometheus_words(program, folder, targets)
            with (
                busy(given.busy),
                running(hub_words(folder, targets, scrape, "arrivals"), HUB_CORE) as hub,
                running(theirs, HUB_CORE) as prometheus,
            ):
                wait_for_nodes(given.targets, hub)
                time.sleep(given.warm_up)
                found = watch(hub.pid, prometheus.pid, load.pid, given.seconds)
                seen = window(folder, found.hub[0].at, found.hub[-1].at)
                print(report(given, found, seen.arrivals, seen.overdue_s))


if __name__ == "__main__":
    main()
