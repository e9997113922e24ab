"""Where a lab looks for real servers of Kubernetes, how they are built, and who reaches them."""

import json
import stat
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.kubernetes.access import (
    Account,
    access_of,
    token_file,
    write_access,
)
from accelwatch_lab.cluster.kubernetes.installed import NAMES, NEWEST, OLDEST, programs
from support.kubernetes import build
from support.processes.shell_scripts import script


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ACCELWATCH_KUBERNETES_VERSION", raising=False)
    return tmp_path / "cache" / "accelwatch" / "kubernetes"


def _put(folder: Path, *names: str, mode: int = 0o755) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
        (folder / name).chmod(mode)


def test_all_servers_of_a_version_have_to_be_there(cache: Path) -> None:
    assert programs() is None
    _put(cache / NEWEST, *NAMES[:-1])
    assert programs() is None
    _put(cache / NEWEST, NAMES[-1], mode=0o644)
    assert programs() is None
    (cache / NEWEST / NAMES[-1]).chmod(0o755)
    found = programs()
    assert found is not None
    assert (found.version, found.path("etcd")) == (NEWEST, str(cache / NEWEST / "etcd"))


def test_another_version_is_used_where_the_environment_names_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(cache / NEWEST, *NAMES)
    monkeypatch.setenv("ACCELWATCH_KUBERNETES_VERSION", OLDEST)
    assert programs() is None
    assert "stand-in API server only" in build.what_is_used()
    _put(cache / OLDEST, *NAMES)
    found = programs()
    assert found is not None
    assert found.version == OLDEST
    assert build.what_is_used() == f"the stand-in API server and the servers of {OLDEST}"


_GO = """\
echo "$*" >> {log}
case "$1 $2" in
"mod download") printf '{{"GoMod": "{folder}/theirs.mod"}}' ;;
"mod edit") cat {folder}/theirs.json ;;
build*) while [ "$1" != -o ]; do shift; done; echo {failing} > "$2"; {failing} ;;
esac
"""


def _with_go(folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str = "true") -> Path:
    """Have a Go that builds nothing; its log of what it was asked."""
    log = folder / "go.log"
    theirs = {
        "Go": "1.26.0",
        "Replace": [
            {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
            {"Old": {"Path": "example.org/a"}, "New": {"Path": "example.org/b"}},
        ],
    }
    (folder / "theirs.json").write_text(json.dumps(theirs))
    text = _GO.format(log=log, folder=folder, failing=failing)
    go = Path(script(folder / "programs" / "go", text))
    monkeypatch.setenv("PATH", str(go.parent), prepend=":")
    return log


def test_servers_are_built_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _with_go(tmp_path, monkeypatch)
    assert build.built(NEWEST) == cache / NEWEST
    lines = log.read_text().splitlines()
    built = [line for line in lines if line.startswith("build")]
    assert [line.rpartition(" ")[2] for line in built] == [
        ".",
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ]
    assert f"gitVersion=v{NEWEST}" in built[1]
    assert sorted(path.name for path in (cache / NEWEST).iterdir()) == sorted(NAMES)
    for name in NAMES:
        (cache / NEWEST / name).chmod(0o755)
    build.built(NEWEST)
    assert log.read_text().splitlines() == lines


def test_modules_that_lie_in_folders_are_taken_as_published(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_go(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(build.NoServersError, match="go build -trimpath failed"):
        build.built(NEWEST)
    # Nothing half built is taken for a server, and the module stays to be looked at.
    assert not (cache / NEWEST / "etcd").exists()
    (cache / NEWEST / "etcd").touch()
    (cache / NEWEST / "source").rename(tmp_path / "etcd only")
    with pytest.raises(build.NoServersError):
        build.built(NEWEST)
    module = (cache / NEWEST / "source" / "kubernetes" / "go.mod").read_text()
    assert f"require k8s.io/kubernetes v{NEWEST}\n" in module
    assert f"replace k8s.io/api => k8s.io/api v0.{NEWEST.removeprefix('1.')}\n" in module
    assert "example.org" not in module


def test_only_its_user_reads_who_may_create_pods(tmp_path: Path) -> None:
    with pytest.raises(AccelwatchError, match="no API server was started"):
        access_of(tmp_path, Account.ADMIN)
    write_access(tmp_path, "https://127.0.0.1:1", tmp_path / "ca.crt")
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    tokens = {access_of(tmp_path, account).token for account in Account}
    assert len(tokens) == len(Account)
    assert token_file(tmp_path, Account.HUB).read_text() in tokens
    write_access(tmp_path, "https://127.0.0.1:1", tmp_path / "ca.crt")
    assert tokens.isdisjoint(access_of(tmp_path, account).token for account in Account)
