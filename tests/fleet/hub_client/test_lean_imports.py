"""What follows plain targets and hubs starts without the client that speaks TLS."""

import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "attr", "frozenlist", "idna", "multidict", "propcache", "typer", "yaml", "yarl")
CLIENTS = (
    "accelwatch.cli.fleet.fleet",
    "accelwatch.fleet.follow.follow",
    "accelwatch.fleet.hub.foreign",
    "accelwatch.fleet.hub_client.local_hub.own_hub",
    "accelwatch.fleet.hub_client.incidents",
    "accelwatch.fleet.hub_client.once",
    "accelwatch.fleet.hub_client.source",
)


# Its errors and where it is are what a hub needs before it opens one.
JOURNAL = ("journal", "opening", "patient", "postgresql", "records", "sqlite", "writer")


def loaded_by(module: str) -> set[str]:
    """The modules of a new process that has imported this one."""
    code = f"import sys, {module}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("module", CLIENTS)
def test_a_client_of_plain_http_loads_what_it_needs(module: str) -> None:
    loaded = loaded_by(module)
    assert not {name.partition(".")[0] for name in loaded} & {*HEAVY, "numpy", "sqlite3"}


def test_a_hub_with_its_server_is_as_lean() -> None:
    loaded = loaded_by("accelwatch.fleet.hub_client.local_hub.embedded")
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_a_discovery_of_a_cluster_loads_no_client_that_writes() -> None:
    loaded = loaded_by("accelwatch.fleet.targets.kubernetes.discovery")
    assert "aiohttp" not in loaded
    assert "accelwatch.api_client.kubernetes.client" not in loaded


def test_a_hub_loads_nothing_for_what_is_not_configured() -> None:
    loaded = loaded_by("accelwatch.fleet.hub.hub")
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    unused = (
        "accelwatch.alerting.delivery",
        "accelwatch.fleet.remedies",
        "accelwatch.fleet.rules",
        "accelwatch.fleet.ssh.follow",
        "accelwatch.fleet.targets.http",
        "accelwatch.fleet.targets.kubernetes",
        "accelwatch.api_client.kubernetes",
        "accelwatch.fleet.tsdb.query",
        "accelwatch.fleet.tsdb.remote_write.writer",
        "accelwatch.archive.history",
        *(f"accelwatch.alerting.incidents.journal.{name}" for name in JOURNAL),
        "accelwatch.otlp",
        "accelwatch.alerting.rules.rule",
    )
    assert not [name for name in loaded if name.startswith(unused)]
