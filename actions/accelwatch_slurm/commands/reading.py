"""Reads what an intent is about: nodes, jobs, reservations, in a few commands side by side."""

import asyncio
import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import JobKey
from accelwatch.api_client.slurm.scontrol_text import pairs_of
from accelwatch_slurm.commands.commands import Commands, why
from accelwatch_slurm.commands.sharing import Rush, SharedRead
from accelwatch_slurm.texts.job_text import (
    SQUEUE_FORMAT,
    JobTable,
    SlurmJob,
    job_lines_of,
    job_of,
    job_table,
    names_of,
)
from accelwatch_slurm.texts.node_text import SlurmNode, node_of
from accelwatch_slurm.texts.reservation_text import OWN, SlurmReservation, reservations_of

_NODE = re.compile(r"[A-Za-z0-9][\w.\-]*", re.ASCII)
_JOB = re.compile(r"\d+(?:_\d+|\+\d+)?", re.ASCII)
# Of a node that are read.
_MOST_JOBS = 512
_MOST_SHOWN = 24
# Nodes that are read by a command each; more at once share one that shows all.
_MAX_SINGLE_READS = 2
_SETTING = re.compile(r"^(\w+)\s*=\s*(\S+)", re.MULTILINE)
_ON_NODES = "--states=RUNNING,COMPLETING,SUSPENDED,CONFIGURING,STOPPED"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller says of itself."""

    name: str
    version: str
    message_timeout_s: float
    kill_wait_s: float


class Controller(msgspec.Struct, frozen=True, kw_only=True):
    """What may be another the next time, at a start of the controller or when it is reconfigured."""

    # Unix seconds at which it was started.
    boot: str
    # Whether a RebootProgram is defined.
    reboots: bool


def is_node_name(name: str) -> bool:
    """Whether a name means one node: no range, and not the word that means all of them."""
    return _NODE.fullmatch(name) is not None and name.upper() != "ALL"


class _Table(NamedTuple):
    """All nodes, and the line of each by its name."""

    lines: dict[str, str]
    nodes: list[SlurmNode]


class Reader:
    """The read side of the commands. All raise ActionUnavailableError when nothing can be known."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._cluster: Cluster | None = None
        self._line_prefix = f"{secrets.token_hex(8)}|"
        self._readers = 0
        self._rush = Rush()
        self._table = SharedRead(self._all_nodes, self._rush)
        # The nodes of the last table by their lines: most are the same in the next one.
        self._parsed: dict[str, SlurmNode] = {}
        self._reservations = SharedRead(self._all_reservations, self._rush)
        self._jobs = SharedRead(self._all_jobs, self._rush)

    async def cluster(self) -> Cluster:
        """Read once; settings that matter here need a restart of the controller to change."""
        if self._cluster is None:
            text = await self._commands.read("scontrol", "show", "config")
            settings = dict(_SETTING.findall(text))
            if "ClusterName" not in settings:
                raise ActionUnavailableError("scontrol show config names no cluster")
            self._cluster = Cluster(
                name=settings["ClusterName"],
                version=settings.get("SLURM_VERSION", ""),
                message_timeout_s=_seconds(settings.get("MessageTimeout"), 10.0),
                kill_wait_s=_seconds(settings.get("KillWait"), 30.0),
            )
        return self._cluster

    async def controller(self) -> Controller:
        """What the controller says of itself now."""
        text = await self._commands.read("scontrol", "show", "config")
        settings = dict(_SETTING.findall(text))
        if "BOOT_TIME" not in settings:
            raise ActionUnavailableError("scontrol show config has no BOOT_TIME")
        program = settings.get("RebootProgram", "")
        return Controller(boot=settings["BOOT_TIME"], reboots=program not in ("", "(null)"))

    async def node_line(self, name: str) -> str:
        """Line of a node, to observe it; empty when there is none of that name."""
        if not is_node_name(name):
            return ""
        self._rush.note()
        if self._readers >= _MAX_SINGLE_READS or self._rush.is_on:
            return (await self._table.get()).lines.get(name, "")
        self._readers += 1
        try:
            return await self._own_line(name)
        finally:
            self._readers -= 1

    async def _own_line(self, name: str) -> str:
        line = _line(await self._commands.read("scontrol", "--oneliner", "show", "node", name))
        if line and node_of(line) is None:
            raise ActionUnavailableError(
                f"scontrol printed a line that is not a node: {line[:80]!a}"
            )
        return line

    async def node(self, name: str) -> SlurmNode | None:
        """A node that is about to be changed, read at once; None when there is none of that name."""
        return node_of(await self._own_line(name)) if is_node_name(name) else None

    async def nodes(self) -> list[SlurmNode]:
        """All nodes."""
        return (await self._table.get()).nodes

    async def nodes_now(self) -> dict[str, SlurmNode]:
        """All nodes by name, read at once: some of them are about to be changed."""
        return {node.name: node for node in (await self._all_nodes()).nodes}

    @property
    def in_a_rush(self) -> bool:
        """Whether so many read that it pays to do together what can be."""
        return self._rush.is_on

    async def _all_nodes(self) -> _Table:
        text = await self._commands.read("scontrol", "--all", "--oneliner", "show", "nodes")
        parsed: dict[str, SlurmNode] = {}
        for line in filter(None, map(str.strip, text.splitlines())):
            node = self._parsed.get(line) or node_of(line)
            if node is None:
                raise ActionUnavailableError(
                    f"scontrol printed a line that is not a node: {line[:80]!a}"
                )
            parsed[line] = node
        self._parsed = parsed
        lines = {node.name: line for line, node in parsed.items()}
        return _Table(lines, list(parsed.values()))

    async def job_line(self, job: str) -> str:
        """Line of a job; empty when there is none of that id."""
        if not _JOB.fullmatch(job):
            return ""
        text = await self._commands.read("scontrol", "--oneliner", "show", "job", job)
        line = next(iter(job_lines_of(text)), "")
        if line and job_of(line) is None:
            raise ActionUnavailableError(
                f"scontrol printed a line that is not a job: {line[:80]!a}"
            )
        return line

    async def component_lines(self, job: str) -> str:
        """Lines of all components of a heterogeneous job, by its number."""
        text = await self._commands.read("scontrol", "--oneliner", "show", "job", job)
        return "\n".join(job_lines_of(text))

    async def job(self, job: str) -> SlurmJob | None:
        """A job; None when there is none of that id."""
        return job_of(await self.job_line(job))

    async def reservation_lines(self, nodes: Sequence[str], named: str = "") -> str:
        """Lines of our own reservations, and of those over some nodes; of all where none are given."""
        text = await self._reservations.get()
        kept = []
        for line in filter(str.strip, text.splitlines()):
            pairs = pairs_of(line)
            name = pairs.get("ReservationName", "")
            if (
                name.startswith(OWN)
                or (name and name == named)
                or (name and (not nodes or set(nodes) & set(names_of(pairs.get("Nodes", "")))))
            ):
                kept.append(line)
        return "\n".join(kept)

    async def reservations(self, nodes: Sequence[str] = ()) -> dict[str, SlurmReservation]:
        """The same, parsed."""
        return reservations_of(await self.reservation_lines(nodes))

    async def _all_reservations(self) -> str:
        return await self._commands.read("scontrol", "--oneliner", "show", "reservations")

    async def jobs(self) -> dict[str, list[JobKey]]:
        """Keys of the jobs that hold nodes, by node."""
        return (await self._jobs.get()).by_node

    async def job_table(self) -> JobTable:
        """The same, and which of them are to be restarted when they die of themselves."""
        return await self._jobs.get()

    async def _all_jobs(self) -> JobTable:
        cluster = await self.cluster()
        arguments = (
            "--noheader",
            "--all",
            _ON_NODES,
            f"--format={self._line_prefix}{SQUEUE_FORMAT}",
        )
        result = await self._commands.run("squeue", *arguments)
        if not result.ok:
            raise ActionUnavailableError(why("squeue", result))
        text = result.output.decode("utf-8", "replace")
        return job_table(text, cluster.name, self._line_prefix)

    async def trial_line(self, name: str) -> str:
        """Line of the job of a name, also of one that has ended a moment ago; empty without one."""
        arguments = ("--noheader", "--all", "--states=all", f"--name={name}", "--format=%i")
        result = await self._commands.run("squeue", *arguments)
        if not result.ok:
            raise ActionUnavailableError(why("squeue", result))
        ids = result.output.decode("ascii", "replace").split()
        return await self.job_line(ids[-1]) if ids else ""

    async def job_lines(self, keys: Sequence[JobKey]) -> str:
        """A line for each job, at most _MOST_SHOWN: those first that nobody holds."""
        lines = await asyncio.gather(*(self.job_line(str(key)) for key in keys[:_MOST_JOBS]))
        jobs = [(line, job_of(line)) for line in lines]
        free = [line for line, job in jobs if job is not None and job.priority != 0]
        held = [line for line, job in jobs if job is not None and job.priority == 0]
        return "\n".join((free + held)[:_MOST_SHOWN])


def _line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _seconds(text: str | None, otherwise: float) -> float:
    return float(text) if text and text.isascii() and text.isdigit() else otherwise
