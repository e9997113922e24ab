"""Files that everybody may write to are not believed; root keeps no state where others may write."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from accelwatch.agent.runtime import state_folder
from accelwatch.alerting.delivery.transport.post import tls_context
from accelwatch.alerting.rules.loading.configured import loaded_rules
from accelwatch.base.errors import AccelwatchError, ConfigError
from accelwatch.config.model import RuleSettings, Settings
from accelwatch.fleet.follow.access import Access, client_context
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.hub.serve import state_folder as hub_state_folder
from accelwatch.fleet.scrape_settings import Authorization, Scrape, TlsConfig
from accelwatch.fleet.targets.files import read_targets
from accelwatch.system.files.file_rights import (
    ALL_UIDS,
    changed_by_others,
    make_state_folder,
    unsafe_for_state,
    written_by_everybody,
)
from accelwatch.system.located_yaml.nodes import read_file
from accelwatch.web.protection.web_config import load_protection
from accelwatch_script.references import resolved

OURS = frozenset({0, os.geteuid()})
READ_ONLY = "or in a container mount the volume readOnly"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root is kept from it")


def _unsafe(path: Path) -> str:
    return written_by_everybody(path, path.stat())


@pytest.mark.parametrize("read", [read_file, read_targets], ids=["configuration", "targets"])
def test_a_file_that_everybody_may_write_to_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("[]\n")
    path.chmod(0o664)
    read(path)
    path.chmod(0o646)
    with pytest.raises(ConfigError) as refused:
        read(path)
    assert str(refused.value) == (
        f"{path}: everybody may write to {path}; chmod o-w {path}, {READ_ONLY}"
    )


def test_so_is_one_in_a_folder_that_everybody_may_write_to(tmp_path: Path) -> None:
    folder = tmp_path / "open" / "inner"
    folder.mkdir(parents=True)
    path = folder / "agent.yaml"
    path.write_text("")
    folder.parent.chmod(0o777)
    assert _unsafe(path) == (
        f"everybody may write to {folder.parent}; chmod o-w {folder.parent}, {READ_ONLY}"
    )
    folder.parent.chmod(0o1777)  # nobody replaces what belongs to others there
    assert _unsafe(path) == ""


def test_the_folder_of_a_link_and_what_it_leads_to_count(tmp_path: Path) -> None:
    folder, real = tmp_path / "open", tmp_path / "real"
    folder.mkdir()
    real.mkdir()
    (real / "agent.yaml").write_text("")
    link = folder / "agent.yaml"
    link.symlink_to(real / "agent.yaml")
    assert _unsafe(link) == ""
    folder.chmod(0o777)
    assert f"write to {folder};" in _unsafe(link)
    folder.chmod(0o755)
    real.chmod(0o777)
    assert f"write to {real};" in _unsafe(link)


def test_a_pipe_or_a_device_has_no_writers_before() -> None:
    assert read_file(Path("/dev/null")) == b""
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, b"log: {}\n")
        os.close(write_end)
        assert read_file(Path(f"/dev/fd/{read_end}")) == b"log: {}\n"
    finally:
        os.close(read_end)


def test_what_is_mounted_read_only_is_written_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text("")
    path.chmod(0o666)
    assert _unsafe(path) != ""
    mounted = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _path: mounted)
    assert _unsafe(path) == ""


def _web(path: Path) -> object:
    return load_protection(path)


def _rules(path: Path) -> object:
    return loaded_rules(RuleSettings(files=(str(path),)))


def _named_token(path: Path) -> object:
    web = path.with_name("web.yml")
    web.write_text(f"bearer_token_file: {path}\n")
    return load_protection(web)


def _secret_of_targets(path: Path) -> object:
    scrape = Scrape(authorization=Authorization(credentials_file=str(path)))
    return asyncio.run(Access(scrape).ticket())


def _authorities_of_targets(path: Path) -> object:
    return client_context(TlsConfig(ca_file=str(path)))


def _authorities_of_sinks(path: Path) -> object:
    return tls_context(str(path))


def _secret_of_hooks(path: Path) -> object:
    return resolved("hooks.drain_node.headers.x", f"file:{path}", {})


@pytest.mark.parametrize(
    "read",
    [
        _web,
        _rules,
        _named_token,
        _secret_of_targets,
        _authorities_of_targets,
        _authorities_of_sinks,
        _secret_of_hooks,
    ],
)
def test_so_is_every_file_that_decides_who_may_do_what(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "file"
    path.write_text("0123456789abcdef0123456789\n")
    path.chmod(0o666)
    with pytest.raises(ConfigError, match=f"everybody may write to {path}; chmod o-w"):
        read(path)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_state_folder_that_others_may_write_to(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    assert changed_by_others(folder, OURS) == ""
    folder.chmod(mode)
    assert changed_by_others(folder, OURS) == (
        f"{folder}: its group or others may write to it; chmod go-w it"
    )


def test_a_state_folder_above_which_others_may_write(tmp_path: Path) -> None:
    folder = tmp_path / "open" / "state"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o775)
    assert changed_by_others(folder, OURS).startswith(f"{folder.parent}: its group")
    folder.parent.chmod(0o1777)
    assert changed_by_others(folder, OURS) == ""


def test_a_state_folder_of_somebody_else(tmp_path: Path) -> None:
    assert "belongs to uid" in changed_by_others(tmp_path, frozenset({54321}))


def _in_user_namespace(folder: Path) -> str:
    """What is wrong with a folder for uid 0 of a user namespace that knows no other user."""
    look = (
        "from accelwatch.system.files.file_rights import *; import sys;"
        " print(unsafe_for_state(Path(sys.argv[1])))"
    )
    unshare = shutil.which("unshare") or "unshare"
    try:
        subprocess.run([unshare, "-Ur", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no user namespaces here")
    command = [unshare, "-Ur", sys.executable, "-c", look, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_user_namespace_does_not_know_who_owns_the_folders_above(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "state"
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(folder.parent, 54321, -1)
    assert _in_user_namespace(folder) == ""
    folder.parent.chmod(0o777)
    assert f"{folder.parent}: its group or others may write to it" in _in_user_namespace(folder)


@needs_root
def test_in_a_user_namespace_the_state_folder_itself_belongs_to_somebody_known(
    tmp_path: Path,
) -> None:
    os.chown(tmp_path, 54321, -1)
    assert f"{tmp_path}: belongs to uid" in _in_user_namespace(tmp_path)


@needs_root
def test_outside_of_user_namespaces_nobody_is_a_user_as_any_other(tmp_path: Path) -> None:
    if Path("/proc/self/uid_map").read_text().split() != ALL_UIDS:
        pytest.skip("in a user namespace")
    nobody = int(Path("/proc/sys/kernel/overflowuid").read_text())
    folder = tmp_path / "above" / "state"
    folder.mkdir(parents=True)
    os.chown(folder.parent, nobody, -1)
    assert f"{folder.parent}: belongs to uid {nobody}" in unsafe_for_state(folder)


def _volume_of_the_image(folder: Path) -> None:
    """As the image leaves its folder, and so a volume made from it."""
    os.chown(folder, 65532, 65532)


def _empty_dir(folder: Path) -> None:
    folder.chmod(0o777)


def _volume_of_a_group(folder: Path) -> None:
    """As Kubernetes leaves one for `fsGroup`."""
    os.chown(folder, 0, 65532)
    folder.chmod(0o2775)


@needs_root
@pytest.mark.parametrize("volume", [_volume_of_the_image, _empty_dir, _volume_of_a_group])
def test_a_volume_that_root_may_not_use_names_the_remedy(
    tmp_path: Path, volume: Callable[[Path], None]
) -> None:
    volume(tmp_path)
    refused = unsafe_for_state(tmp_path)
    assert (
        "where it is a container's volume, run as another user (--user 65532, runAsUser)" in refused
    )
    assert refused.endswith("or use a hostPath that only root may write to")


def test_who_is_not_root_decides_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert unsafe_for_state(tmp_path) == ""


@needs_root
def test_root_keeps_no_state_where_others_may_write(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    make_state_folder(folder)
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="root keeps no state where others may write"):
        make_state_folder(folder)
    refusals: tuple[Callable[[], object], ...] = (
        lambda: state_folder(Settings(state_dir=str(folder)), {}),
        lambda: state_folder(Settings(), {"STATE_DIRECTORY": str(folder)}),
        lambda: hub_state_folder(HubSettings(state_dir=str(folder)), {}),
    )
    for refused in refusals:
        with pytest.raises(AccelwatchError, match=f"{folder}.*chmod go-w"):
            refused()


@needs_root
def test_a_path_that_nobody_named_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "accelwatch").mkdir()
    (tmp_path / "accelwatch").chmod(0o777)
    found = state_folder(Settings(), {"XDG_STATE_HOME": str(tmp_path)})
    assert found != tmp_path / "accelwatch"
