"""Targets from Slurm: a real controller where there is one, and what other versions print."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.discovery import SlurmTargets
from accelwatch.fleet.targets.slurm.nodes import (
    SlurmNode,
    is_selected,
    leaf_switches,
    nodes_of_json,
    nodes_of_text,
)
from support.slurm.controller import Slurm, slurm_cluster


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    # A short path: munged's socket lies in it.
    with tempfile.TemporaryDirectory(prefix="slurm") as name, slurm_cluster(Path(name)) as one:
        one.scontrol("update", "node=n001", "state=drain", "reason=NodeAddr=evil bad gpu 3")
        one.scontrol("update", "node=n002", "state=down", "reason=x")
        yield one


def look(slurm: Slurm, **given: Any) -> dict[str, Target]:
    way = SlurmTargets(SlurmSd(slurm_conf=str(slurm.conf), **given), Rules())
    found = way.poll()
    assert not way.kept.complaints
    return {one.node: one for one in found}


def test_nodes_with_gpus_become_targets(slurm: Slurm) -> None:
    found = look(
        slurm, feature_labels={"rack": "rack-"}, switch_label="switch", labels={"site": "s"}
    )
    assert list(found) == ["n001", "n002", "n003", "n004"]
    assert found["n001"].address == "10.0.0.1:9877"
    assert found["n001"].labels == {
        "site": "s",
        "slurm_state": "drained",
        "partition": "train",
        "rack": "r1",
        "switch": "s1",
    }
    assert found["n002"].labels["slurm_state"] == "down"
    assert found["n003"].labels["partition"] == "all"
    assert (found["n004"].labels["rack"], found["n004"].labels["switch"]) == ("r2", "s2")


def test_filters_and_names_are_configured(slurm: Slurm) -> None:
    assert list(look(slurm, gres="gpu:a100")) == ["n004"]
    assert "c001" in look(slurm, gres="")
    found = look(slurm, partitions=("all", "train"), address="name", port=9400)
    assert found["n001"].address == "n001:9400"
    assert found["n001"].labels["partition"] == "all"
    assert list(look(slurm, partitions=("hidden",))) == ["n003"]


def test_the_json_of_a_real_cluster_says_what_its_text_says(slurm: Slurm) -> None:
    """scontrol of Debian's 22.05 has no --json, but its sinfo dumps the same nodes."""
    if shutil.which("sinfo") is None:
        pytest.skip("sinfo is not installed")
    environ = {**os.environ, "SLURM_CONF": str(slurm.conf)}
    printed = subprocess.run(
        ["sinfo", "--json"], env=environ, capture_output=True, timeout=60, check=False
    )
    if printed.returncode:
        pytest.skip("sinfo has no --json")
    text = subprocess.run(
        ["scontrol", "--all", "--oneliner", "show", "nodes"],
        env=environ,
        capture_output=True,
        timeout=60,
        check=True,
    )
    by_json = {one.name: one for one in nodes_of_json(printed.stdout)}
    by_text = {one.name: one for one in nodes_of_text(text.stdout.decode())}
    assert by_json == by_text


TEXT = (
    "NodeName=g1 Arch=x86_64 CoresPerSocket=32  CPUAlloc=64 CPUEfctv=64 CPUTot=64 CPULoad=12.31 "
    "AvailableFeatures=a100,rack-7 ActiveFeatures=a100,rack-7 Gres=gpu:a100:4(S:0-1),nvme:1 "
    "NodeAddr=g1 NodeHostName=g1 Version=23.11.4 OS=Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC "
    "RealMemory=515000 AllocMem=0 FreeMem=N/A Sockets=2 Boards=1 State=MIXED+DRAIN ThreadsPerCore=1 "
    "TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu,debug BootTime=2026-01-02T03:04:05 "
    "AllocTRES=cpu=64 CapWatts=n/a Reason=NodeName=evil Gres=none [root@2026-01-02T03:04:05]\n"
)


def test_text_of_a_busy_node_is_read() -> None:
    assert nodes_of_text(TEXT) == [
        SlurmNode(
            name="g1",
            hostname="g1",
            address="g1",
            states=("mixed", "drain"),
            partitions=("gpu", "debug"),
            gres=("gpu:a100:4(S:0-1)", "nvme:1"),
            features=("a100", "rack-7"),
            reason="NodeName=evil Gres=none",
        )
    ]


def test_json_of_later_versions_is_read() -> None:
    node = {
        "name": "g1",
        "hostname": "g1",
        "address": "10.0.0.1",
        "state": ["IDLE", "DRAIN"],
        "partitions": ["gpu"],
        "gres": "gpu:a100:4(S:0,1)",
        "active_features": ["a100", "rack-7"],
        "features": ["a100", "rack-7"],
        "reason": "NHC: check_hw_ib",
    }
    document = {"nodes": [node], "last_update": {"set": True, "number": 1}, "warnings": []}
    (one,) = nodes_of_json(json.dumps({**document, "errors": []}).encode())
    assert (one.state, one.gres, one.features) == (
        "drained",
        ("gpu:a100:4(S:0,1)",),
        ("a100", "rack-7"),
    )
    assert (one.out, one.reason) == (True, "NHC: check_hw_ib")
    with pytest.raises(UsageError):
        nodes_of_json(json.dumps({**document, "errors": [{"error": "x"}]}).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"nodes": null}', b"\xff"])
def test_json_that_is_no_list_of_nodes_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        nodes_of_json(data)


def test_text_that_is_no_list_of_nodes_is_refused() -> None:
    with pytest.raises(UsageError):
        nodes_of_text("slurm_load_node error: Unable to contact slurm controller\n")


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ("allocated drain", "draining"),
        ("idle drain", "drained"),
        ("down drain", "drained"),
        ("idle completing drain", "draining"),
        ("down not_responding", "down"),
        ("idle maintenance reserved", "maint"),
        ("idle cloud powered_down", "powered_down"),
        ("mixed fail", "failing"),
        ("idle planned", "idle"),
        ("", "unknown"),
    ],
)
def test_the_state_is_one_word(states: str, word: str) -> None:
    assert SlurmNode(name="n", states=tuple(states.split())).state == word


@pytest.mark.parametrize(
    ("gres", "wanted", "is_in"),
    [
        ("gpu:h100:8", "gpu", True),
        ("gpu:h100:8(S:0-1)", "gpu:h100", True),
        ("gpu:h100nvl:8", "gpu:h100", False),
        ("gpu=8", "gpu", True),
        ("gpus:8", "gpu", False),
        ("mps:100", "gpu", False),
    ],
)
def test_a_resource_is_known_by_its_whole_name(gres: str, wanted: str, is_in: bool) -> None:
    assert is_selected(SlurmNode(name="n", gres=(gres,)), SlurmSd(gres=wanted)) is is_in


def test_only_leaf_switches_name_racks() -> None:
    text = (
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2],m1\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-2],m1 Switches=s1\n"
    )
    assert leaf_switches(text) == {"n1": "s1", "n2": "s1", "m1": "s1"}


def _scontrol(folder: Path, script: str) -> str:
    path = folder / "scontrol"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "timeout_s"),
    [
        ("exit 1", 60.0),
        ("echo nonsense", 60.0),
        ("exec sleep 60", 0.2),
        ("echo '{\"nodes\": 3}'", 60.0),
        ("printf '\\377'", 60.0),
    ],
)
def test_a_scontrol_that_fails_keeps_the_targets(
    tmp_path: Path, script: str, timeout_s: float
) -> None:
    document = '{"nodes": [{"name": "n1", "gres": "gpu:1", "state": "idle"}]}'
    command = _scontrol(tmp_path, f"echo '{document}'")
    way = SlurmTargets(SlurmSd(scontrol=command, timeout_s=60.0), Rules())
    assert [one.address for one in way.poll()] == ["n1:9877"]
    _scontrol(tmp_path, script)
    failing = SlurmTargets(SlurmSd(scontrol=command, timeout_s=timeout_s), Rules())
    failing.kept = way.kept
    assert [one.address for one in failing.poll()] == ["n1:9877"]
    assert command in failing.kept.complaints
    way = SlurmTargets(SlurmSd(scontrol=str(tmp_path / "absent")), Rules())
    assert way.poll() == []
    assert way.kept.complaints


def test_a_scontrol_without_json_is_read_as_text(tmp_path: Path) -> None:
    script = (
        'case "$*" in *--json*) echo "scontrol: unrecognized option" >&2; exit 1;; esac\n'
        f"cat <<'END'\n{TEXT}END"
    )
    way = SlurmTargets(SlurmSd(scontrol=_scontrol(tmp_path, script)), Rules())
    (one,) = way.poll()
    assert (one.address, one.labels) == (
        "g1:9877",
        {"slurm_state": "draining", "partition": "gpu"},
    )
