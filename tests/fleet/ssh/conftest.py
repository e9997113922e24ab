"""One sshd for all tests of this folder; without it they are skipped."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machines.packed_trees import FakeTree
from support.servers.sshd import MISSING, SSH, SSHD, SshSite, ssh_site

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "fixtures/nvidia/h100x2/nvidia-smi.xml"
_HAND_ON = 'eval "$SSH_ORIGINAL_COMMAND"'


def _command(folder: Path, name: str, text: str) -> Path:
    """A folder with a program of this text."""
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshSite]:
    if SSHD is None or SSH is None:
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("ssh")
    path = {
        name: f"ForceCommand PATH={_command(folder / name, 'nvidia-smi', text)}:$PATH; {_HAND_ON}"
        for name, text in {
            "healthy": f"exec cat {RECORDED}",
            "garbage": "echo '<nvidia_smi_log><gpu'; exit 0",
            "endless": "exec yes",
            "driverless": "echo NVIDIA-SMI has failed because it couldn\\'t communicate with the "
            "NVIDIA driver. Make sure that the latest NVIDIA driver is installed.; exit 9",
        }.items()
    }
    outdated = _command(folder / "outdated", "accelwatch", "echo no such command: $1 >&2; exit 2")
    FakeTree(folder / "machine").lay_out("amd/mi300x-x2")
    ours = _command(
        folder / "ours",
        "accelwatch",
        f'exec {sys.executable} -m accelwatch "$@" --root {folder}/machine --backend amd',
    )
    (folder / "banner").write_text("AUTHORIZED USE ONLY\n")
    hosts = {
        "healthy": path["healthy"],
        "noisy": path["healthy"].replace(
            "ForceCommand ", "ForceCommand echo welcome; echo 'and hello' >&2; "
        )
        + f"\nBanner {folder}/banner",
        "garbage": path["garbage"],
        "endless": path["endless"],
        "driverless": path["driverless"],
        "outdated": path["healthy"].replace("PATH=", f"PATH={outdated}:"),
        "ours": f"ForceCommand PATH={ours}:$PATH; {_HAND_ON}",
        "bare": "",
        "chatty": "ForceCommand exec yes",
        "closed": "ForceCommand echo your account has expired; exit 1",
        "hanging": "ForceCommand exec cat >/dev/null",
        "password": "PubkeyAuthentication no\nPasswordAuthentication yes",
    }
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        ssh_site(folder, hosts) as running,
    ):
        running.name("silent", silent.getsockname()[1])
        running.name("refusing", 1)
        port = running.ports["healthy"]
        running.name("stranger", port, "UserKnownHostsFile /dev/null")
        other = (folder / "key.pub").read_text()
        (folder / "other_hosts").write_text(f"[127.0.0.1]:{port} {other}")
        running.name("changed", port, f"UserKnownHostsFile {folder}/other_hosts")
        running.settle()
        yield running
