"""Real servers of Backend.AI, where they are: how they start and end, what runs on their agents."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.backendai.servers.servers import MANAGER, Servers
from accelwatch_lab.cluster.backendai.tree.installed import absence, tree
from accelwatch_lab.cluster.processes import Processes, lab_processes
from accelwatch_lab.cluster.waiting import until

pytestmark = pytest.mark.skipif(bool(absence()), reason=absence())

_STARTER = """\
import sys, time
from pathlib import Path
from accelwatch_lab.cluster.backendai.tree.installed import tree
from accelwatch_lab.cluster.backendai.servers.servers import Servers
from accelwatch_lab.cluster.processes import Processes
servers = Servers(Processes(Path(sys.argv[1])), tree())
servers.start()
servers.agents.configure("n1")
servers.agents.start("n1")
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """One with a short name, nothing of which runs in the end."""
    with tempfile.TemporaryDirectory(prefix="bai") as name:
        yield Path(name)
        assert list(lab_processes(Path(name), {})) == []


def test_servers_of_a_starter_that_was_killed_are_ended(folder: Path) -> None:
    found = tree()
    assert found is not None
    mounts = Path("/proc/self/mounts").read_text()
    argv = [sys.executable, "-c", _STARTER, str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        starter.send_signal(signal.SIGKILL)
    processes = Processes(folder)
    assert processes.runs(MANAGER)
    assert Path("/proc/self/mounts").read_text() == mounts
    Servers(processes, found).stop()
    assert processes.running() == []
    until(lambda: not list(lab_processes(folder, {})), "nothing runs")
    assert not (found.root / "mnt" / "access.json").exists()
