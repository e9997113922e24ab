"""A job of processes is restarted over other nodes by the example's hooks.

`ssh` and `torchrun` are stand-ins: nodes are names, a node that is dead does not answer, and what takes
torchrun's command line starts the worker processes and nothing else. As with ssh, what is started on a
node is no child of the hook: a server of the test runs it.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.step import Achieved, Proposal, Refusal, Report, ReportStatus, Step, Wait
from support.actions.hooks import operation, program, script
from support.processes.waiting import GUARD_S, wait_until

REMOTE = """\
node=$1; shift
[ ! -e {folder}/dead/$node ] || exit 255
exec {python} {folder}/client {folder}/nodes "$*"
"""
CLIENT = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    there.sendall(sys.argv[2].encode())
    there.shutdown(socket.SHUT_WR)
    said = b"".join(iter(lambda: there.recv(65536), b""))
code, _, output = said.partition(b"\\n")
sys.stdout.buffer.write(output)
sys.exit(int(code))
"""
TORCHRUN = '''\
#!{python}
"""Takes the command line of torchrun and starts the workers of one node, each in its own session."""
import argparse, os, subprocess, sys
parser = argparse.ArgumentParser()
for name in ("nnodes", "node-rank", "nproc-per-node", "max-restarts"):
    parser.add_argument(f"--{{name}}", type=int, required=True)
for name in ("rdzv-id", "rdzv-backend", "rdzv-endpoint"):
    parser.add_argument(f"--{{name}}", required=True)
given, program = parser.parse_known_args()
workers = []
for local in range(given.nproc_per_node):
    rank = given.node_rank * given.nproc_per_node + local
    env = {{**os.environ, "RANK": str(rank), "LOCAL_RANK": str(local),
           "WORLD_SIZE": str(given.nnodes * given.nproc_per_node)}}
    workers.append(subprocess.Popen([sys.executable, *program], env=env, start_new_session=True))
sys.exit(max(worker.wait() for worker in workers))
'''

BOOT = Path("/proc/sys/kernel/random/boot_id")
PYTHON = Path(sys.executable).resolve()
# Not the one of a wrapper that chooses among Pythons, which takes longer than the hooks.
PATH = f"{PYTHON.parent}:/usr/bin:/bin"


class Command(socketserver.StreamRequestHandler):
    """Runs a command as a node's sshd does, and answers its exit code and output."""

    def handle(self) -> None:
        words = ["setsid", "--wait", "sh", "-c", self.rfile.read().decode()]
        server = self.server
        assert isinstance(server, Nodes)
        done = subprocess.run(
            words, cwd=server.folder, env={"PATH": PATH}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
        self.wfile.write(b"%d\n%b" % (done.returncode, done.stdout))


class Nodes(socketserver.ThreadingUnixStreamServer):
    """All nodes of the site."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}/nodes", Command)
        self.folder = folder


class Site:
    """The example as a site has it, in a folder."""

    def __init__(self, folder: Path, examples: Path) -> None:
        self.folder = folder
        self.job = folder / "job"
        shutil.copytree(examples / "resume-torchrun", folder / "hooks")
        self.job.mkdir()
        (folder / "dead").mkdir()
        for name in ("train.py", "checkpoint_lock.py"):
            shutil.copy(examples / "slurm-checkpoint-lock" / name, self.job)
        text = (folder / "hooks" / "job.conf").read_text()
        remote = program(folder, REMOTE.format(folder=folder, python=PYTHON), "remote")
        (folder / "client").write_text(CLIENT, encoding="utf-8")
        launcher = program(folder, TORCHRUN.format(python=PYTHON), "torchrun")
        for old, new in (
            ('"ssh -o BatchMode=yes -o ConnectTimeout=5"', f'"{remote}"'),
            ("TORCHRUN=torchrun", f"TORCHRUN={launcher}"),
            ("PER_NODE=8", "PER_NODE=2"),
            ("/srv/jobs/42", str(self.job)),
            ("/srv/quarantine", f"{folder}/quarantine"),
            ("JOB=42", f"JOB=42-{os.getpid()}-{folder.name}"),
        ):
            assert old in text
            text = text.replace(old, new)
        self.conf = folder / "job.conf"
        self.conf.write_text(text)
        self.name = f"42-{os.getpid()}-{folder.name}"
        self.environ = {"JOB_CONF": str(self.conf), "PATH": PATH}

    def options(self, readme: str) -> dict[str, Any]:
        """What the example's page says, with our folders."""
        text = readme.split("```yaml\n")[1].partition("```")[0]
        text = text.replace("/etc/accelwatch/torchrun/job.conf", str(self.conf))
        text = text.replace("/etc/accelwatch/torchrun", f"{self.folder}/hooks")
        text = text.replace("/usr/bin:/bin", PATH)
        loaded: dict[str, Any] = yaml.safe_load(text)
        return loaded

    def launch(self, *nodes: str) -> None:
        """Begin the job."""
        words = [str(self.folder / "hooks" / "launch"), "0", *nodes]
        subprocess.run(words, env=self.environ, check=True, timeout=30)

    def step(self, copy: int) -> int:
        """The newest checkpoint of a copy."""
        found = [*self.job.glob(f"checkpoints/copy-{copy}/step-*")]
        return max((int(one.name[5:]) for one in found), default=0)

    def pids(self, node: str = "") -> list[int]:
        """Processes of the job, on a node or all."""
        word = f"COPY_OF={self.name}.".encode()
        pids = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                words = file.read_bytes().split(b"\0")
            except OSError:
                continue
            if any(
                one.startswith(word) and one.endswith(f".{node}".encode() if node else b"")
                for one in words
            ):
                pids.append(int(file.parent.name))
        return pids

    def intent(self, kind: IntentKind, **more: Any) -> Intent:
        return Intent(
            kind=kind,
            mark=OwnerAnnotation(incident="i7", token=3),
            node="n2",
            deadline=1_800_003_600.0,
            **more,
        )


@pytest.fixture
def site(tmp_path: Path, examples: Path) -> Iterator[Site]:
    made = Site(tmp_path, examples)
    with Nodes(tmp_path) as nodes:
        threading.Thread(target=nodes.serve_forever, daemon=True).start()
        yield made
        nodes.shutdown()
    for pid in made.pids():
        with contextlib.suppress(ProcessLookupError):  # it may end by itself meanwhile
            os.kill(pid, signal.SIGKILL)


def move(site: Site, **more: Any) -> Intent:
    job = JobKey(cluster="", id=site.name, submitted=0.0)
    return site.intent(IntentKind.MOVE_JOB, job=job, bad_nodes=("n2",), spare="n3", **more)


async def called(made: Any, wanted: Intent) -> tuple[Report, Proposal]:
    step = made.propose(wanted, await made.observe(wanted))
    assert isinstance(step, Step), step
    outcome = await made.perform(step, operation(operation=wanted.kind.value))
    ending = made.propose(wanted, await made.observe(wanted))
    async with asyncio.timeout(GUARD_S):
        while isinstance(ending, Wait):
            await asyncio.sleep(0.05)
            ending = made.propose(wanted, await made.observe(wanted))
    return outcome, ending


def test_a_job_goes_on_over_other_nodes(site: Site, examples: Path) -> None:
    options = site.options((examples / "resume-torchrun" / "README.md").read_text())
    site.launch("n1", "n2")
    wait_until(lambda: site.step(0) >= 3)

    async def scenario() -> Proposal:
        made = script(**options)
        shown = {one.name: one for one in await made.observe_all()}
        assert {name for name, one in shown.items() if one.jobs} == {"n1", "n2"}
        assert shown["n3"].boot_id == BOOT.read_text().strip()
        outcome, ending = await called(made, site.intent(IntentKind.QUARANTINE))
        assert (outcome.status, type(ending)) == (ReportStatus.DONE, Achieved)
        outcome, ending = await called(made, move(site))
        assert outcome.status is ReportStatus.DONE, outcome
        assert outcome.text == "copy 1 on n1,n3"
        return ending

    ending = asyncio.run(scenario())
    assert isinstance(ending, Achieved), ending
    assert ending.moved_to == ("n1", "n3")
    assert site.pids("n2") == []
    wait_until(lambda: len(site.pids("n3")) == 3)
    wait_until(lambda: site.step(1) > 3)
    saved = max(int(one.name[5:]) for one in site.job.glob("checkpoints/closed-0/step-*"))
    assert f"copy 1 begins after step {saved}\n" in (site.job / "log" / "n1").read_text()


def test_a_silent_node_is_fenced_by_the_job_only(site: Site, examples: Path) -> None:
    options = site.options((examples / "resume-torchrun" / "README.md").read_text())
    site.launch("n2", "n1")
    wait_until(lambda: site.step(0) >= 3)
    # n2, which writes the checkpoints, does not answer any more, and its processes go on.
    (site.folder / "dead" / "n2").touch()

    async def scenario() -> Proposal:
        made = script(**options)
        refusal = made.propose(move(site), await made.observe(move(site)))
        assert isinstance(refusal, Refusal)
        assert "the old copy of the job may run on and write" in refusal.text
        outcome, ending = await called(made, move(site, fenced_by_job=True))
        assert outcome.text == "copy 1 on n1,n3"
        return ending

    old = site.pids("n2")
    assert isinstance(asyncio.run(scenario()), Achieved)
    wait_until(lambda: site.step(1) > 3)
    # It has found its folder closed, and ended by itself.
    wait_until(
        lambda: (
            "copy 0 ends: the folder of copy 0 was closed" in (site.job / "log" / "n2").read_text()
        )
    )
    assert old


def test_a_release_takes_our_own_mark_only(site: Site, examples: Path) -> None:
    options = site.options((examples / "resume-torchrun" / "README.md").read_text())
    held = site.folder / "quarantine" / "n2"

    async def scenario() -> None:
        made = script(**options)
        wanted = site.intent(IntentKind.RELEASE)
        held.parent.mkdir()
        held.write_text("ann is looking at it\n")
        assert isinstance(made.propose(wanted, await made.observe(wanted)), Achieved)
        quarantine = site.intent(IntentKind.QUARANTINE)
        refusal = made.propose(quarantine, await made.observe(quarantine))
        assert isinstance(refusal, Refusal)
        held.write_text("i7 3\n")
        outcome, ending = await called(made, wanted)
        assert (outcome.status, type(ending)) == (ReportStatus.DONE, Achieved)
        assert not held.exists()

    asyncio.run(scenario())
