"""The unit is one that systemd accepts, and it grants what the agent needs and no more."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from accelwatch.node.sampler.supervisor import Limits

# Twice what an agent's server has resident with eight devices.
SERVER_BYTES = 160 << 20

Unit = dict[str, dict[str, list[str]]]


@pytest.fixture
def unit(examples: Path) -> Unit:
    """Sections, keys and values; a key may be repeated, which configparser refuses."""
    sections: Unit = {}
    keys: dict[str, list[str]] = {}
    text = (examples / "systemd/accelwatch-agent.service").read_text("utf-8")
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            keys = sections.setdefault(line.strip("[]"), {})
        elif not line.startswith("#"):
            key, value = line.split("=", 1)
            keys.setdefault(key, []).append(value)
    return sections


def test_systemd_accepts_the_unit(examples: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not on PATH; Debian has it in the package systemd")
    text = (examples / "systemd/accelwatch-agent.service").read_text("utf-8")
    # The command must exist for systemd; the agent is not installed where tests run.
    copy = tmp_path / "accelwatch-agent.service"
    copy.write_text(text.replace("/usr/bin/accelwatch", "/bin/true"), "utf-8")
    done = subprocess.run(
        [program, "verify", copy], capture_output=True, text=True, timeout=60, check=False
    )
    # An unknown key is only a warning to systemd, so any line about this unit is a fault here.
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "accelwatch" in line] == []


def test_life_cycle(unit: Unit) -> None:
    service = unit["Service"]
    assert service["Type"] == ["notify"]
    assert service["WatchdogSec"] == ["30"]
    assert service["Restart"] == ["always"]
    assert service["ExecStart"] == [
        "/usr/bin/accelwatch agent --config.file=/etc/accelwatch/agent.yaml"
    ]
    assert service["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert int(service["TimeoutStopSec"][0]) > 2
    assert unit["Install"]["WantedBy"] == ["multi-user.target"]


def test_the_collector_ends_before_the_unit_does(unit: Unit) -> None:
    """Its guard and twice what the server needs lie below the unit's limit; should the kernel be
    quicker, it ends the collector, and the agent goes on."""
    service = unit["Service"]
    assert service["MemoryMax"] == ["512M"]
    assert Limits().resident_bytes + SERVER_BYTES <= 512 << 20
    assert service["OOMPolicy"] == ["continue"]


def test_counters_outlive_the_user_of_one_run(unit: Unit) -> None:
    assert unit["Service"]["DynamicUser"] == ["yes"]
    assert unit["Service"]["StateDirectory"] == ["accelwatch"]


def test_kernel_log_and_devices_stay_readable(unit: Unit) -> None:
    service = unit["Service"]
    assert service["CapabilityBoundingSet"] == ["CAP_SYSLOG"]
    assert service["AmbientCapabilities"] == ["CAP_SYSLOG"]
    assert service["DevicePolicy"] == ["closed"]
    assert "/dev/kmsg r" in service["DeviceAllow"]
    assert "char-nvidia* rw" in service["DeviceAllow"]
    assert "char-drm rw" in service["DeviceAllow"]
    blinding = {"ProtectKernelLogs", "PrivateDevices", "ProtectProc", "PrivateNetwork"}
    assert blinding.isdisjoint(service)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("PrivateTmp", "yes"),
        ("ProtectKernelModules", "yes"),
        ("RestrictNamespaces", "yes"),
        ("SystemCallFilter", "@system-service"),
    ],
)
def test_hardening(unit: Unit, key: str, value: str) -> None:
    assert unit["Service"][key] == [value]


def test_web_config_holds_hashes_only(examples: Path) -> None:
    config = yaml.safe_load((examples / "systemd/web-config.yml").read_text("utf-8"))
    assert set(config) == {"tls_server_config", "basic_auth_users"}
    assert {"cert_file", "key_file"} <= set(config["tls_server_config"])
    for hashed in config["basic_auth_users"].values():
        assert re.fullmatch(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", hashed)
