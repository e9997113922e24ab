"""`accelwatch fleet --ssh` over a real sshd: hosts of every kind, each costs only its own row."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from support.processes.waiting import wait_until
from support.processes.warm_command import accelwatch
from support.servers.sshd import SSH, SshSite

HOSTS = (
    "healthy,noisy,garbage,endless,driverless,bare,chatty,closed,password,refusing,stranger,changed"
)
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def document(site: SshSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command prints of all hosts together."""
    folder = tmp_path_factory.mktemp("hub")
    hub = folder / "hub.yaml"
    hub.write_text(
        f"ssh: {{connect_timeout: 30s, config_file: {site.config}}}\n"
        # Long enough for the first hosts to be fresh still when the last has answered.
        f"scrape: {{body_size_limit: {LIMIT}, scrape_interval: 60s}}\n"
    )
    run = accelwatch(
        *("fleet", "--ssh", HOSTS, "-c", str(hub), "--json", "--devices", "--fields"),
        *("power_watts,temperature_celsius", "--timeout", "60s", "--no-state"),
        environ={"XDG_RUNTIME_DIR": str(folder)},
        timeout_s=300.0,
    )
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout)
    return printed


def node(document: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = (one for one in document["nodes"] if one["node"] == name)
    assert isinstance(one, dict)
    return one


def fault(document: dict[str, Any], name: str) -> tuple[str, str]:
    assert node(document, name)["state"] == "never"
    (target,) = node(document, name)["targets"]
    return target["fault"]["reason"], target["fault"]["message"]


@pytest.mark.parametrize("name", ["healthy", "noisy"])
def test_devices_of_a_host_with_nothing_of_ours(document: dict[str, Any], name: str) -> None:
    known = node(document, name)
    assert (known["state"], known["devices"], known["interval_s"]) == ("up", 2, 5.0)
    (target,) = known["targets"]
    assert (target["dialect"], target["mode"]) == ("ssh:nvidia-smi", "poll")
    devices = [one for one in document["devices"] if one["node"] == name]
    assert [one["name"] for one in devices] == ["nvidia0", "nvidia1"]
    assert devices[0]["values"]["power_watts"] > 0
    assert devices[0]["uuid"].startswith("GPU-")


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("password", "credentials", "accepts none of your keys"),
        ("stranger", "host_key", "its host key is not known"),
        ("changed", "host_key", "differs from the one in known_hosts"),
        ("refusing", "connect", "Connection refused"),
        ("closed", "status", "your account has expired"),
        ("chatty", "too_large", "more than 65536 bytes"),
        ("endless", "too_large", f"more than {LIMIT} bytes"),
        ("garbage", "no_source", "nvidia-smi ended with status 0 and no document"),
        ("driverless", "no_source", "NVML"),
        ("bare", "no_source", "commands is installed"),
    ],
)
def test_every_other_host_says_why_it_is_not_read(
    document: dict[str, Any], name: str, reason: str, words: str
) -> None:
    host, message = fault(document, name)
    assert host == reason
    assert words in message
    assert message.isprintable()


def test_nothing_stays_behind_on_either_side(document: dict[str, Any], site: SshSite) -> None:
    assert document["nodes"]
    wait_until(lambda: not site.sessions())
    wait_until(lambda: not ours(site))


def ours(site: SshSite) -> list[str]:
    """Processes that run with the configuration of the site's hosts."""
    running: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            if words.startswith(f"{SSH}\0") and str(site.config) in words:
                running.append(words)
    return running
