"""Many hosts behind one sshd: a jump host that forbids forwarding, one that drops connections."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.machines.samples import FIXTURES
from support.processes.warm_command import accelwatch
from support.servers.sshd import MISSING, SSH, SSHD, SshSite, ssh_site

pytestmark = pytest.mark.skipif(SSHD is None or SSH is None, reason=MISSING)
MANY = 12


def _healthy(folder: Path) -> str:
    """What makes a host of an sshd answer as one with two GPUs."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nexec cat {FIXTURES}/nvidia/h100x2/nvidia-smi.xml\n")
    program.chmod(0o755)
    return f'ForceCommand PATH={folder}:$PATH; eval "$SSH_ORIGINAL_COMMAND"'


def _look(site: SshSite, hosts: str, timeout: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """What the command prints; a login may take as long as the command, however busy the machine is."""
    hub = folder / "hub.yaml"
    hub.write_text("ssh: {connect_timeout: 60s}\n")
    run = accelwatch(
        *("fleet", "--ssh", hosts, "--ssh-config", str(site.config), "-c", str(hub)),
        *("--json", "--no-state", "--timeout", timeout),
        environ={"XDG_RUNTIME_DIR": str(folder)},
        timeout_s=300.0,
    )
    assert run.stdout, run.stderr
    return run.returncode, run.stderr, json.loads(run.stdout)


def _fault(node: Mapping[str, Any]) -> str:
    (target,) = node["targets"]
    return str(target["fault"]["message"])


def test_a_jump_host_that_forbids_forwarding_is_named(tmp_path: Path) -> None:
    hosts = {
        "jump": "AllowTcpForwarding no",
        "open": "AllowTcpForwarding yes",
        "target": _healthy(tmp_path),
    }
    with ssh_site(tmp_path, hosts) as site:
        site.name("behind", site.ports["target"], "ProxyJump jump")
        site.name("dead", 1, "ProxyJump open")
        site.name("reached", site.ports["target"], "ProxyJump open")
        site.settle()
        _, _, report = _look(site, "behind,dead,reached", "60s", tmp_path)
    nodes = {node["node"]: node for node in report["nodes"]}
    assert _fault(nodes["behind"]).startswith("its jump host forbids forwarding")
    assert _fault(nodes["dead"]).startswith("its jump host cannot connect to it")
    assert nodes["reached"]["state"] == "up"


def test_an_sshd_that_allows_few_connections_at_a_time_is_read_by_all(tmp_path: Path) -> None:
    """`MaxStartups 4` drops every connection beyond four that have not logged in yet."""
    with ssh_site(tmp_path, {"gate": _healthy(tmp_path)}, startups="4") as site:
        for number in range(MANY):
            site.name(f"h{number:02d}", site.ports["gate"])
        site.settle()
        code, complaints, report = _look(site, f"h[00-{MANY - 1}]", "120s", tmp_path)
    assert [node["state"] for node in report["nodes"]] == ["up"] * MANY
    assert (code, complaints) == (0, "")


def test_hosts_that_have_not_answered_in_time_are_counted(tmp_path: Path) -> None:
    hanging = "ForceCommand exec cat >/dev/null"
    with ssh_site(tmp_path, {"well": _healthy(tmp_path), "hanging": hanging}) as site:
        for number in range(3):
            site.name(f"h{number}", site.ports["hanging"])
        site.settle()
        code, complaints, report = _look(site, "well,h[0-2]", "20s", tmp_path)
    assert report["fleet"]["nodes"]["never"] == 3
    assert code == 1
    assert "3 of 4 nodes did not answer within 20s: h0, h1, h2; give them more time" in complaints
