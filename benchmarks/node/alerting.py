"""Prometheus and its Alertmanager beside us: the same agent, once a second, waiting for nobody."""

import http.client
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from agent import free_port

POLL_S = 0.02
GIVEN_UP_S = 30.0
_RULES = """\
groups: [{name: gpu, rules: [{alert: lost, expr: accel_device_up == 0}]}]
"""
# Starts a process, and ends it when the benchmark does.
Begin = Callable[[list[str]], object]


def begin_alerting(folder: Path, target: str, url: str, begin: Begin, scrape: str = "") -> bool:
    """Have a lost device of an agent told to a webhook; False where they are not installed.

    `target` is the agent's host and port; `scrape` are further keys of its `scrape_config`.
    """
    prometheus = shutil.which("prometheus")
    alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if prometheus is None or alertmanager is None:
        return False
    port, at = free_port(), free_port()
    (folder / "alertmanager.yaml").write_text(
        "route: {receiver: a, group_by: ['...'], group_wait: 0s, group_interval: 1s}\n"
        f"receivers: [{{name: a, webhook_configs: [{{url: '{url}'}}]}}]\n"
    )
    (folder / "fault.yaml").write_text(_RULES)
    (folder / "prometheus.yaml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
        "rule_files: [fault.yaml]\n"
        f"scrape_configs: [{{job_name: a, static_configs: [{_of(target)}]{scrape}}}]\n"
        f"alerting: {{alertmanagers: [{{static_configs: [{_of(f'127.0.0.1:{at}')}]}}]}}\n"
    )
    begin(
        [
            *(alertmanager, f"--config.file={folder / 'alertmanager.yaml'}"),
            *(f"--storage.path={folder / 'am'}", "--cluster.listen-address="),
            *(f"--web.listen-address=127.0.0.1:{at}", "--log.level=error"),
        ]
    )
    begin(
        [
            *(prometheus, f"--config.file={folder / 'prometheus.yaml'}"),
            *(f"--storage.tsdb.path={folder / 'tsdb'}", "--log.level=error"),
            f"--web.listen-address=127.0.0.1:{port}",
        ]
    )
    path = "/api/v1/query?query=count(accel_device_up)"
    waited(lambda: b'"value"' in asked(port, path), 60.0)
    return True


def started(words: list[str], environ: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """A process that prints nothing."""
    log = subprocess.DEVNULL
    return subprocess.Popen(words, env=environ, stdout=log, stderr=log)


def _of(target: str) -> str:
    return f"{{targets: ['{target}']}}"


def asked(port: int, path: str) -> bytes:
    """A page, empty when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    except OSError:
        return b""
    finally:
        connection.close()


def waited(condition: Callable[[], bool], most_s: float = GIVEN_UP_S) -> float | None:
    """The moment at which it became true; None if it never did."""
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        if condition():
            return time.monotonic()
        time.sleep(POLL_S)
    return None


def figures(runs: list[dict[str, float]], goals: dict[str, float]) -> dict[str, dict[str, float]]:
    """Median, p95, p99 and the slowest of each, in seconds, with what p99 must reach."""
    durations: dict[str, dict[str, float]] = {}
    for what in runs[0]:
        times = sorted(run[what] for run in runs)
        durations[what] = {
            "median_s": round(statistics.median(times), 3),
            "p95_s": round(times[round(0.95 * (len(times) - 1))], 3),
            "p99_s": round(times[round(0.99 * (len(times) - 1))], 3),
            "max_s": round(times[-1], 3),
        }
        if what in goals:
            durations[what]["goal_p99_s"] = goals[what]
    return durations
