"""The stand-in as a lab's scheduler: its processes, its administrators and users, and its hooks."""

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.http_client import NoAnswerError, page, post
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow
from accelwatch_lab.cluster.slurm.controller import NODE
from accelwatch_lab.cluster.stand_in.hooks import HOOKS
from accelwatch_lab.cluster.waiting import until

_ADDRESS = "stand-in.json"
_OPTIONS = {
    "fence": "timeout: 10s",
    "move_job": "timeout: 3s, observe_for: 30m",
}
_USUAL = "timeout: 3s"
_HEAD = """\
  - name: stand-in
    type: script
    options:
      observe: {{url: "http://{address}/observe", timeout: 3s}}
      survey: {{argv: [/bin/sh, -c, {survey}], timeout: 10s}}
      hooks:
"""
_HOOK = '        {name}: {{url: "http://{address}/hooks/{name}", idempotent: true, {options}}}\n'


class StandIn:
    """It."""

    title = "the stand-in scheduler"
    controller = "scheduler"
    controller_title = "the scheduler"
    # All its nodes are this machine.
    shows_boots = False
    commands_wait_s = 3.0
    unplayable: Mapping[str, str] = MappingProxyType({})

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder = folder
        self.names: Sequence[str] = tuple(names)
        self.processes = Processes(folder)

    @property
    def address(self) -> str:
        """Where it is served, `host:port`. Raises NoAnswerError before it has started."""
        try:
            text: str = msgspec.json.decode((self._folder / _ADDRESS).read_bytes(), type=str)
        except (*DECODE_ERRORS, OSError):
            raise NoAnswerError(f"no scheduler was started in {self._folder}") from None
        return text

    @property
    def shown_by(self) -> str:
        """Any program that gets a page."""
        return f"curl http://{self.address}/nodes"

    def start(self, spares: Sequence[str]) -> None:
        """A process for it and one for each node. Raises AccelwatchError."""
        port = free_ports(1)[0]
        (self._folder / _ADDRESS).write_bytes(msgspec.json.encode(f"127.0.0.1:{port}"))
        argv = [sys.executable, "-m", "accelwatch_lab.cluster.stand_in.server", str(port)]
        argv += [str(self._folder), "--nodes", ",".join(self.names)]
        self.processes.start(self.controller, [*argv, "--spares", ",".join(spares)])
        for name in self.names:
            self.start_node(name)
        until(self._is_up, f"all nodes answer; it says: {self.output_of(self.controller)}", 60.0)

    def _is_up(self) -> bool:
        try:
            return all(node["answering"] for node in self._nodes())
        except NoAnswerError:
            return False

    def _nodes(self) -> list[dict[str, Any]]:
        nodes: list[dict[str, Any]] = page(self.address, "/nodes")["nodes"]
        return nodes

    def cancel_jobs(self) -> None:
        """They end with their nodes' daemons."""

    def actions(self) -> str:
        """The action `script`."""
        address = self.address
        argv = (sys.executable, "-m", "accelwatch_lab.cluster.stand_in.nodes_hook", address)
        # A shell of the system's: programs of one's own may lie where a group may write.
        survey = msgspec.json.encode(f"exec {shlex.join(argv)}").decode()
        hooks = [
            _HOOK.format(name=name, address=address, options=_OPTIONS.get(name, _USUAL))
            for name in HOOKS
        ]
        return _HEAD.format(address=address, survey=survey) + "".join(hooks)

    def sinks(self) -> str:
        """None."""
        return ""

    def submit(self, count: int) -> str:
        """Id of a job that counts, which begins as soon as its nodes are free."""
        return str(post(self.address, "/jobs", {"count": count})["id"])

    def cancel(self, job: str) -> None:
        """End it."""
        with contextlib.suppress(AccelwatchError):
            post(self.address, "/cancel", {"job": job})

    def nodes_now(self) -> dict[str, NodeNow]:
        """Every node, in Slurm's words."""
        return {node["name"]: _node(node) for node in self._nodes()}

    def job_now(self, job: str) -> JobNow | None:
        """A job."""
        status = page(self.address, f"/jobs/{job}")
        if status["state"] == "missing":
            return None
        return JobNow(status["state"].upper(), tuple(status["nodes"]), status["restarts"])

    def drain(self, node: str, reason: str) -> None:
        """As an administrator does."""
        post(self.address, "/nodes", {"node": node, "reason": reason})

    def resume(self, node: str) -> None:
        """As an administrator does."""
        post(self.address, "/nodes", {"node": node})

    def daemon(self, node: str) -> str:
        """Its daemon."""
        return f"daemon.{node}"

    def start_node(self, node: str) -> None:
        """A daemon for a node that has none."""
        argv = [sys.executable, "-m", "accelwatch_lab.cluster.stand_in.node_daemon"]
        self.processes.start(self.daemon(node), [*argv, str(self._folder), node], {NODE: node})

    def output_of(self, name: str) -> str:
        """The end of what a process has printed."""
        try:
            return (self._folder / f"{name}.out").read_text(errors="replace")[-500:].strip()
        except OSError:
            return ""


def _node(status: dict[str, Any]) -> NodeNow:
    states = ["ALLOCATED" if status["jobs"] else "IDLE"]
    states += ["DRAIN"] if status["reason"] else []
    states += ["DOWN"] if status["down"] else []
    states += [] if status["answering"] else ["NOT_RESPONDING"]
    return NodeNow(tuple(states), status["reason"])
