"""A real Prometheus scrapes the agent's server and stores every sample."""

import json
import shutil
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from accelwatch.web.protection.web_config import Protection, load_protection
from support.machines import composed as machines
from support.servers.ports import free_port

Serve = Callable[..., Any]


class Prometheus:
    """A server with these scrape jobs."""

    def __init__(self, folder: Path, jobs: list[dict[str, Any]]) -> None:
        program = shutil.which("prometheus")
        if program is None:
            pytest.skip("prometheus is not on PATH; Debian has it in the package prometheus")
        self.address = f"127.0.0.1:{free_port()}"
        config = folder / "prometheus.yml"
        config.write_text(
            json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}), "utf-8"
        )
        self.log = folder / "prometheus.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    program,
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=log,
            )

    def query(self, text: str) -> list[dict[str, Any]]:
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        with urllib.request.urlopen(url, timeout=60) as response:
            result: list[dict[str, Any]] = json.load(response)["data"]["result"]
            return result

    def value(self, text: str) -> float | None:
        found = self.query(text)
        return float(found[0]["value"][1]) if found else None

    def wait_for(self, text: str) -> float:
        """The value of a query once it has one that is not 0."""
        pause = threading.Event()
        for _ in range(300):
            try:
                if value := self.value(text):
                    return value
            except OSError:
                assert self._process.poll() is None, self.log.read_text()
            pause.wait(0.1)
        raise AssertionError(f"{text} has no value; {self.log.read_text()}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Callable[..., Prometheus]]:
    started: list[Prometheus] = []

    def start(*jobs: dict[str, Any]) -> Prometheus:
        started.append(Prometheus(tmp_path, list(jobs)))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def target(served: Any) -> list[dict[str, list[str]]]:
    return [{"targets": [f"127.0.0.1:{served.port}"]}]


def test_every_sample_is_stored_and_credentials_are_taken(
    serve: Serve, authority: Any, tmp_path: Path, prometheus: Callable[..., Prometheus]
) -> None:
    views = (*(machines.view(index) for index in range(6)), machines.lost_view(6), machines.view(7))
    served = serve()
    served.feed.put(machines.snapshot(*views, machines.mig_view(8, 7)))
    guarded = serve(_guarded(authority, tmp_path))
    server = prometheus(
        {"job_name": "plain", "static_configs": target(served)},
        {
            "job_name": "guarded",
            "static_configs": target(guarded),
            "scheme": "https",
            "tls_config": {"ca_file": str(authority.file)},
            "basic_auth": {"username": "prometheus", "password_file": str(tmp_path / "password")},
        },
    )
    assert server.wait_for('up{job="guarded"}') == 1
    assert server.wait_for('up{job="plain"}') == 1
    scraped = server.wait_for('scrape_samples_scraped{job="plain"}')
    assert server.value('accel_exporter_series{job="plain"}') == scraped
    assert server.value('count({__name__=~"accel_.+", job="plain"})') == scraped
    assert server.value('scrape_samples_post_metric_relabeling{job="plain"}') == scraped
    assert len(server.query('accel_device_up{job="plain"} == 1')) == 7
    assert len(server.query('accel_device_up{job="plain"} == 0')) == 1
    (power,) = server.query('accel_power_watts{device="nvidia3", job="plain"}')
    assert power["metric"]["uuid"] == machines.device(3).uuid
    assert float(power["value"][1]) == 645.125
    log = server.log.read_text().lower()
    assert [word for word in ("duplicate", "out of order", "out of bounds") if word in log] == []


def _guarded(authority: Any, folder: Path) -> Protection:
    authority.issue("server")
    hashed = bcrypt.hashpw(b"correct horse", bcrypt.gensalt(4)).decode()
    path = folder / "web.yml"
    path.write_text(
        "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
        f"basic_auth_users: {{prometheus: '{hashed}'}}\n"
    )
    (folder / "password").write_text("correct horse")
    return load_protection(path)
