"""What the settings become: exposure, state folder, what the collector and the server are told."""

import logging
from pathlib import Path

import pytest

from accelwatch.agent.runtime import (
    collect_settings,
    default_selection,
    state_folder,
    workload_settings,
)
from accelwatch.base.errors import ConfigError
from accelwatch.config.layers import effective
from accelwatch.config.model import Settings, Web
from accelwatch.web.front import server_limits
from accelwatch.web.protection.exposure import check_exposure, protection_of
from accelwatch.web.protection.web_config import Protection


@pytest.mark.parametrize(
    ("address", "any_", "protection", "refused"),
    [
        ("127.0.0.1:1", False, Protection(), False),
        ("[::1]:1", False, Protection(), False),
        (":1", False, Protection(), True),
        ("10.0.0.1:1", False, Protection(), True),
        ("node7:1", False, Protection(), True),
        (":1", True, Protection(), False),
        (":1", False, Protection(users={"a": "x"}), False),
        (":1", False, Protection(tokens=("x",)), False),
        (":1", False, Protection(client_certificates=True), False),
        (":1", False, Protection(headers={"X-Frame-Options": "DENY"}), True),
    ],
)
def test_who_is_let_in_from_outside(
    address: str, any_: bool, protection: Protection, refused: bool
) -> None:
    web = Web(listen_address=("127.0.0.1:1", address), listen_any=any_)
    if refused:
        with pytest.raises(ConfigError, match=f"other machines can reach .*{address}"):
            check_exposure(web, protection)
    else:
        check_exposure(web, protection)


def test_a_web_configuration_without_credentials_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text("http_server_config: {http2: true}")
    config = str(tmp_path / "web.yml")
    assert not protection_of(Web(config_file=config)).authenticates
    with pytest.raises(ConfigError, match="basic_auth_users"):
        protection_of(Web(config_file=config, listen_address=(":1",)))


def test_where_counters_persist(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = Settings(state_dir=str(tmp_path / "given"))
    assert state_folder(given, {"STATE_DIRECTORY": "/x"}) == tmp_path / "given"
    assert (tmp_path / "given").is_dir()
    systemd = {"STATE_DIRECTORY": f"{tmp_path}/one:{tmp_path}/two"}
    assert state_folder(Settings(), systemd) == tmp_path / "one"
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        assert state_folder(Settings(state_dir=str(tmp_path / "file" / "x")), {}) is None
    assert "counters start at zero" in caplog.text


def test_every_part_gets_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        """
collect: {interval: 2s, timeout: 3s, groups: [links], exclude: [nvidia3], root: /host, argv: true,
          options: {nvidia: {source: xml}}}
exposition: {profile: minimal, groups: [pipes], inventory: false}
web: {max_requests: 3, max_connections: 4, header_timeout: 5s, request_timeout: 6s,
      keepalive_timeout: 7s, stream_max_clients: 8, stream_stall_timeout: 9s}
workloads: {sources: [slurm], job_dirs: [jobs], gpu_order: {0: nvidia7}}
"""
    )
    settings = effective(file, {}).settings
    collect = collect_settings(settings, tmp_path)
    assert (collect.interval_s, collect.timeout_s) == (2.0, 3.0)
    assert collect.groups == {"links", "pipes"}
    assert collect.excluded == ("nvidia3",)
    assert (collect.root, collect.argv, collect.state_dir) == ("/host", True, str(tmp_path))
    assert collect.options == {"nvidia": {"source": "xml"}}
    limits = server_limits(settings.web)
    assert (limits.requests, limits.streams, limits.stall_s) == (3, 8, 9.0)
    connections = limits.connections
    assert (connections.connections, connections.header_timeout_s) == (4, 5.0)
    assert (connections.request_timeout_s, connections.keepalive_timeout_s) == (6.0, 7.0)
    selection = default_selection(settings)
    assert (selection.profile, selection.groups, selection.inventory) == (
        "minimal",
        frozenset({"pipes"}),
        False,
    )
    workloads = workload_settings(settings)
    assert (workloads.sources, workloads.root) == (frozenset({"slurm"}), Path("/host"))
    assert workloads.job_dirs == (tmp_path / "jobs",)
    assert workloads.gpu_order == {"0": "nvidia7"}
