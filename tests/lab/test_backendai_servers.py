"""Where a lab looks for real servers of Backend.AI, how they are built, and who reaches them."""

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch_lab.cluster.backendai.access import (
    ACCESS_KEYS,
    Account,
    keys_of,
    secret_file,
    write_keys,
)
from accelwatch_lab.cluster.backendai.servers.configuration import (
    AgentPorts,
    AgentSettings,
    ManagerPorts,
    write_agent,
    write_manager,
)
from accelwatch_lab.cluster.backendai.servers.servers import statements
from accelwatch_lab.cluster.backendai.servers.services import Services
from accelwatch_lab.cluster.backendai.tree.building import built, obstacle_to_building
from accelwatch_lab.cluster.backendai.tree.installed import (
    NEWEST,
    OLDEST,
    VERSION_VARIABLE,
    Tree,
    absence,
    tree,
)
from accelwatch_lab.cluster.processes import Processes
from support.processes.shell_scripts import script

_BASE = (
    "usr/bin/etcd",
    "usr/bin/redis-server",
    "usr/bin/setpriv",
    "usr/lib/postgresql/17/bin/postgres",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of root's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(VERSION_VARIABLE, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path / "cache" / "accelwatch" / "backendai"


def _put(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        file.chmod(0o755)


def _packages(version: str) -> list[str]:
    """What pip writes last of each."""
    folder = f"opt/bai-{version}/lib/python3.13/site-packages"
    names = ("manager", "agent", "accelerator_mock", "install")
    return [f"{folder}/backend_ai_{name}-{version}.dist-info/RECORD" for name in names]


def _only_tools(folder: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Nothing is installed but these programs."""
    for name, text in texts.items():
        script(folder / "programs" / name, text)
    monkeypatch.setenv("PATH", str(folder / "programs"))


@pytest.mark.parametrize("missing", [*_BASE, *_packages(NEWEST)])
def test_a_tree_has_every_server(cache: Path, missing: str) -> None:
    _put(cache / "root", *(name for name in (*_BASE, *_packages(NEWEST)) if name != missing))
    assert tree() is None
    _put(cache / "root", missing)
    found = tree()
    assert found is not None
    assert (found.version, found.python) == (NEWEST, f"/opt/bai-{NEWEST}/bin/python")
    assert absence() == ""


def test_another_release_is_used_where_the_environment_names_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(cache / "root", *_BASE, *_packages(NEWEST))
    monkeypatch.setenv(VERSION_VARIABLE, OLDEST)
    assert tree() is None
    assert f"the servers of {OLDEST} are not in {cache}" in absence()
    assert "make backendai" in absence()
    _put(cache / "root", *_packages(OLDEST))
    found = tree()
    assert found is not None
    assert found.version == OLDEST


def test_only_root_starts_servers(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(cache / "root", *_BASE, *_packages(NEWEST))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert tree() is None
    assert "only root" in absence()
    assert "only root" in obstacle_to_building()
    with pytest.raises(UnmetError, match="only root"):
        built(NEWEST)


def test_what_enters_the_tree_is_missed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(cache / "root", *_BASE, *_packages(NEWEST))
    _only_tools(tmp_path, monkeypatch, mount="true")
    assert tree() is None
    assert absence() == "not installed: unshare, chroot"


def test_what_a_build_needs_is_missed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _only_tools(tmp_path, monkeypatch, mount="true", unshare="true", chroot="true")
    assert "debootstrap is not installed" in obstacle_to_building()
    # Where Debian's tree is, only a release is built into it.
    _put(cache / "root", *_BASE)
    assert obstacle_to_building(room_bytes=0) == ""
    assert "GB are free" in obstacle_to_building(room_bytes=10**18)


# The fourth word of debootstrap is the folder; pip is the last that chroot runs.
_DEBOOTSTRAP = """\
echo "debootstrap $*" >> {log}
for name in {names}; do mkdir -p "$4/$(dirname $name)"; touch "$4/$name"; chmod +x "$4/$name"; done
mkdir -p "$4/etc/ssl/certs"
"""
_CHROOT = """\
echo "chroot $*" >> {log}
case "$*" in *pip*install*) {install} ;; esac
"""


def _build_tools(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, install: str = ""
) -> Path:
    """Have tools that build nothing; their log."""
    log = folder / "log"
    files = [cache / "root" / name for name in _packages(NEWEST)]
    writes = "; ".join(f'mkdir -p "{file.parent}"; touch "{file}"' for file in files)
    script(folder / "programs" / "debootstrap", _DEBOOTSTRAP.format(log=log, names=" ".join(_BASE)))
    script(folder / "programs" / "chroot", _CHROOT.format(log=log, install=install or writes))
    monkeypatch.setenv("PATH", str(folder / "programs"), prepend=":")
    return log


def test_a_tree_is_built_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _build_tools(tmp_path, cache, monkeypatch)
    progress: list[str] = []
    assert built(NEWEST, progress.append).version == NEWEST
    lines = log.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["debootstrap", "chroot", "chroot"]
    assert "postgresql" in lines[0]
    assert f"backend-ai-agent=={NEWEST}" in lines[2]
    assert len(progress) == 2
    built(NEWEST)
    assert log.read_text().splitlines() == lines
    assert [path.name for path in cache.iterdir()] == ["root"]


def test_a_release_is_added_to_the_tree_that_is_there(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(cache / "root", *_BASE, *_packages(OLDEST), "etc/ssl/certs/ca-certificates.crt")
    log = _build_tools(tmp_path, cache, monkeypatch)
    built(NEWEST)
    assert "debootstrap" not in log.read_text()


def test_what_is_half_built_is_no_tree(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build_tools(tmp_path, cache, monkeypatch, "echo no such package >&2; exit 1")
    with pytest.raises(AccelwatchError, match="no such package"):
        built(NEWEST)
    assert tree(NEWEST) is None
    assert [path.name for path in cache.iterdir()] == ["root"]


def test_a_base_that_fails_is_not_left_behind(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build_tools(tmp_path, cache, monkeypatch)
    script(tmp_path / "programs" / "debootstrap", 'mkdir "$4"; echo no mirror >&2; exit 1')
    with pytest.raises(AccelwatchError, match="no mirror"):
        built(NEWEST)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("26.1.0", "scaling-group"),
        ("26.7.9", "scaling-group"),
        ("26.8.0", "initial-resource-group-name"),
        ("26.10.1", "initial-resource-group-name"),
    ],
)
def test_an_agent_names_its_group_as_its_release_has_it(
    tmp_path: Path, version: str, name: str
) -> None:
    settings = AgentSettings(agent="n7", number=7, host="127.0.0.7", group="spare", gpus=8)
    write_agent(tmp_path, Tree(version, tmp_path), 2379, settings, AgentPorts(1, 2, 3, 4, 5, 6))
    text = (tmp_path / "agents" / "n7" / "agent.toml").read_text()
    agent = tomllib.loads(text)["agent"]
    names = {key: value for key, value in agent.items() if "group" in key}
    assert names == {name: "spare"}
    assert agent["rpc-listen-addr"] == {"host": "127.0.0.7", "port": 1}
    devices = tomllib.loads((tmp_path / "agents" / "n7" / "mock-accelerator.toml").read_text())
    ids = {device["mother_uuid"] for device in devices["devices"]}
    assert len(ids) == 8
    assert all(uuid.startswith("GPU-00000007-") for uuid in ids)


def test_a_manager_is_started_from_its_files(tmp_path: Path) -> None:
    write_manager(tmp_path, ManagerPorts(1, 2, 3, 4, 5, 6, 7, 8), heartbeat_timeout_s=9.5)
    manager = tomllib.loads((tmp_path / "manager" / "manager.toml").read_text())
    assert manager["db"]["addr"]["port"] == 1
    assert manager["manager"]["service-addr"]["port"] == 5
    assert manager["manager"]["heartbeat-timeout"] == 9.5
    # What stands in for docker says what the mock accelerator reads of it.
    printed = subprocess.run([tmp_path / "bin" / "docker"], capture_output=True, check=True).stdout
    assert json.loads(printed)["Server"]["Version"]


def test_secret_keys_are_in_no_command(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody on the machine reads those, and a failure repeats them."""
    _put(cache / "root", "usr/lib/postgresql/17/bin/psql")
    script(tmp_path / "programs" / "unshare", f'echo "$*" > {tmp_path}/argv; cat >&2; exit 1')
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=":")
    folder = tmp_path / "lab" / "backendai"
    folder.mkdir(parents=True)
    ports = ManagerPorts(1, 2, 3, 4, 5, 6, 7, 8)
    services = Services(Processes(folder.parent), Tree(NEWEST, cache / "root"), folder, ports)
    with pytest.raises(AccelwatchError) as raised:
        services.execute("hush")
    command, printed = str(raised.value).split(" failed: ")
    assert (tmp_path / "argv").read_text().count("hush") == command.count("hush") == 0
    assert printed == "hush"


def test_only_its_user_reads_who_may_create_sessions(tmp_path: Path) -> None:
    with pytest.raises(AccelwatchError, match="no manager was started"):
        keys_of(tmp_path, Account.SUPERADMIN)
    write_keys(tmp_path, "http://127.0.0.1:1")
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    keys = [keys_of(tmp_path, account) for account in Account]
    assert {key.access_key for key in keys} == set(ACCESS_KEYS.values())
    assert len({key.secret_key for key in keys}) == len(Account)
    assert secret_file(tmp_path, Account.USER).read_text() == keys_of(tmp_path, Account.USER)[2]
    sql = statements(tmp_path)
    assert all(key.secret_key in sql and key.access_key in sql for key in keys)
    write_keys(tmp_path, "http://127.0.0.1:1")
    assert not any(keys_of(tmp_path, account) in keys for account in Account)
