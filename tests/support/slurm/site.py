"""A site as its operator sets it up: a real Slurm, an agent a node behind TLS, a hub that acts.

Every part is a process of its own. All nodes of the cluster are on this machine, which no host name can
tell apart, so `remedy.nodes` says who is who; all else is proven as anywhere.
"""

import contextlib
import getpass
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import bcrypt

from accelwatch_lab.cluster.slurm.controller import SlurmError
from support.machines.nvml_stand_ins import NvmlScenario
from support.servers.agent_processes import AgentProcess
from support.servers.certificate_authority import Authority
from support.slurm.lab_cluster import WorkingSlurm, until

RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0, mode: auto}
rules:
- id: site.gpu.lost
  title: A GPU has fallen off the bus
  when: state == "lost"
  severity: critical
  confidence: high
  action:
    quarantine: {level: node, when: now}
    job: {policy: requeue}
    spare: {draw: true}
    verify: [{passive: 1s}]
"""
PASSWORD = "a long word"
_WEB = """\
tls_server_config: {{cert_file: {cert}, key_file: {key}}}
basic_auth_users: {{hub: "{digest}"}}
"""


_SCONTROL = """\
#!/bin/sh
if [ -e {folder}/hang ] && [ "$1" = "$(cat {folder}/hang)" ]; then
    rm {folder}/hang
    kill -STOP "$(cat {controller})"
fi
if [ $# -eq 0 ]; then
    given=$(cat)
    printf '%s\\n' "$given" | {scontrol}
    code=$?
    printf '%s\\n' "$given" | sed -e '/^quit$/d' -e '/^$/d' -e "s/^/$code /" >> {folder}/changes
    exit $code
fi
{scontrol} "$@"
code=$?
case " $* " in
*" show "*) [ $code -eq 0 ] || echo "$*" >> {folder}/unanswered ;;
*) echo "$code $*" >> {folder}/changes ;;
esac
exit $code
"""


def hub_name(node: str) -> str:
    """The hub's name of a node of Slurm: `gpu-3` for `n3`."""
    return f"gpu-{node.removeprefix('n')}"


class SlurmSite:
    """The processes, and what a fault, a person or a test does to them."""

    def __init__(
        self,
        folder: Path,
        slurm: WorkingSlurm,
        nodes: Sequence[str],
        *,
        interval: str = "500ms",
        rules_interval: str = "250ms",
        rules: str = RULES,
        options: Mapping[str, Any] | None = None,
        devices: int = 1,
    ) -> None:
        """`nodes` have agents, so many GPUs each, read every `interval`; the last one is the spare."""
        self._devices = devices
        self.folder = folder
        self.slurm = slurm
        self.nodes = tuple(nodes)
        self.drivers: dict[str, NvmlScenario] = {}
        self.agents: dict[str, AgentProcess] = {}
        self._interval = interval
        self._rules_interval = rules_interval
        self._rules = rules
        self._options = options or {}
        self.password_file = folder / "hub.password"
        self._authority = Authority(folder)

    def hub_name(self, node: str) -> str:
        """The hub's name of a node of Slurm."""
        return hub_name(node)

    @property
    def ca_file(self) -> Path:
        """By which the agents' certificate is verified."""
        return self._authority.file

    def start_agents(self) -> None:
        """Start them; each listens when this returns."""
        certificate, key = self._authority.issue("agents")
        web = self.folder / "web.yaml"
        digest = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        web.write_text(_WEB.format(cert=certificate, key=key, digest=digest))
        self.password_file.write_text(PASSWORD)
        for number, node in enumerate(self.nodes):
            folder = self.folder / node
            folder.mkdir()
            driver = NvmlScenario(folder / "node.scenario").devices(self._devices, "h100")
            for device in range(self._devices):
                unique = number + 1000 * device
                driver.set(device, "uuid", f"GPU-5ca1ab1e-0000-4000-9000-{unique:012d}")
                driver.set(device, "serial", f"16510{unique:08d}")
            driver.write()
            root = self._root(node)
            config = (
                f"collect: {{backends: [nvidia], interval: {self._interval}, root: '{root}'}}\n"
                "state_dir: state\n"
            )
            self.drivers[node] = driver
            self.agents[node] = AgentProcess(
                folder, config, driver.environment(), web_config=str(web)
            )
        for agent in self.agents.values():
            agent.wait_for(lambda agent=agent: bool(agent.address))  # type: ignore[misc]

    def _root(self, node: str) -> Path:
        """Where the agent of a node finds /proc and /sys."""
        return Path("/")

    def start_hub(self) -> None:
        """Start it and wait until it hears all agents and could draw the spare."""
        self._install_commands()
        targets = [
            {
                "targets": [self.agents[node].address],
                "labels": {"node": self.hub_name(node), "rack": f"rack-{node}"},
            }
            for node in self.nodes
        ]
        config = self._hub_settings(targets)
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
        self.hub = AgentProcess(self.folder, text, {}, command="hub")
        self.hub.wait_for(lambda: bool(self.hub.address))
        self.hub.wait_for(lambda: bool(self.spare.get("usable")))

    def _access(self) -> dict[str, Any]:
        """By what the hub knows the agents, and they it."""
        return {
            "tls_config": {"ca_file": str(self.ca_file)},
            "basic_auth": {"username": "hub", "password_file": str(self.password_file)},
        }

    def _hub_settings(self, targets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The hub's file, for targets in the format of file_sd; other files are written."""
        (self.folder / "targets.json").write_text(json.dumps(targets))
        (self.folder / "rules.yaml").write_text(self._rules)
        return {
            "targets": {"files": [str(self.folder / "targets.json")]},
            "scrape": {"scheme": "https", **self._access()},
            "rules": {"files": [str(self.folder / "rules.yaml")], "interval": self._rules_interval},
            # Incidents are those of the rules above.
            "detector": {"enabled": False},
            "remedy": self._remedy(),
            "state_dir": str(self.folder / "state"),
        }

    def _install_commands(self) -> None:
        """Slurm's commands for the hub: what they are told to change, and its end, is written down."""
        folder = self.folder / "commands"
        folder.mkdir()
        for name in ("squeue", "scancel", "sbatch"):
            (folder / name).symlink_to(str(shutil.which(name)))
        script = folder / "scontrol"
        script.write_text(
            _SCONTROL.format(
                folder=folder,
                controller=self.slurm.folder / "slurmctld.pid",
                scontrol=shutil.which("scontrol"),
            )
        )
        script.chmod(0o755)

    def hang_at(self, word: str) -> None:
        """Have the controller stop right before it is told this by the hub, such as `requeue`."""
        (self.folder / "commands" / "hang").write_text(word)

    @property
    def changes(self) -> list[str]:
        """Exit code and words of what the hub told Slurm to change."""
        file = self.folder / "commands" / "changes"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def rounds_unanswered(self) -> int:
        """How many looks at all nodes have ended without an answer; they come one after another."""
        file = self.folder / "commands" / "unanswered"
        lines = file.read_text().splitlines() if file.exists() else []
        return sum(line.endswith(" show nodes") for line in lines)

    def _remedy(self) -> Mapping[str, Any]:
        action = {
            "name": "cluster",
            "type": "slurm",
            "options": {
                "slurm_conf": str(self.slurm.conf),
                "commands": str(self.folder / "commands"),
                "spares": "spares",
                **self._options,
            },
        }
        return {
            "ceiling": "resume",
            "actions": [action],
            "nodes": {self.hub_name(node): node for node in self.nodes},
            "spares": {"nodes": [self.nodes[-1]]},
            "stop_file": str(self.folder / "STOP"),
            "override_cooldown": "1s",
            "relapse_within": "0",
            "budget": {
                "share": "60%",
                "min_available": "40%",
                "small_pool": 0,
                "per_hour": 1000,
                "spacing": "0s",
            },
            "breaker": {"overrides": 1000},
            "data_guard": {"startup_grace": "0s", "calm": "0s", "late": "60s"},
        }

    def logs(self) -> dict[str, str]:
        """What explains a failure: the hub's log, what it had Slurm change, Slurm's own log and jobs."""
        files = (
            self.hub.log,
            self.folder / "commands" / "changes",
            self.slurm.folder / "slurmctld.log",
        )
        texts = {file.name: file.read_text()[-8000:] for file in files if file.exists()}
        for shown in ("job", "node", "reservation"):
            with contextlib.suppress(SlurmError, subprocess.SubprocessError):
                texts[f"scontrol show {shown}"] = self.slurm.scontrol("-o", "show", shown)
        return texts

    def end(self) -> None:
        """End all of them."""
        hub = getattr(self, "hub", None)
        for process in (hub, *self.agents.values()):
            if process is not None:
                process.kill()

    def lose(self, node: str) -> None:
        """The GPU of a node falls off the bus."""
        self.drivers[node].lose(0).write()

    def repair(self, node: str) -> None:
        """It is back."""
        self.drivers[node].unset(0, "lost").write()

    def get(self, path: str) -> Any:
        """A page of the hub."""
        return json.loads(self.hub.get(path))

    def remedy(self, node: str) -> dict[str, Any]:
        """What is being done about a node; empty when nothing is."""
        remedies = self.get("/v1/remedies")["remedies"]
        return next((one for one in remedies if one["node"] == self.hub_name(node)), {})

    def stage(self, node: str) -> str:
        """Of the remedy of a node; `healthy` when there is none."""
        return str(self.remedy(node).get("stage", "healthy"))

    def notes(self, node: str) -> list[str]:
        """What stands in the incidents of a node besides what its rules have said."""
        incidents = self.get("/v1/incidents?state=all")["incidents"]
        lines = [
            line
            for one in incidents
            if one["node"] == self.hub_name(node)
            for line in one["timeline"]
        ]
        return [line["text"] for line in lines if line["kind"] in ("note", "call")]

    @property
    def spare(self) -> dict[str, Any]:
        """The spare, as the hub tells of it; empty until its engine has begun."""
        return next(map(dict, self.get("/v1/spares")["spares"]), {})

    def keep_spare(self) -> None:
        """The standing reservation over the spare, as an operator makes it."""
        whose = f"users={getpass.getuser()}"
        words = (f"nodes={self.nodes[-1]}", whose, "starttime=now", "duration=infinite")
        self.slurm.scontrol("create", "reservation=spares", *words)

    def calm_down(self) -> None:
        """All is mended, nothing is being done, no job runs, and the spare is where it was."""
        for node in self.nodes:
            self.repair(node)
        until(lambda: not self.get("/v1/remedies")["remedies"], f"nothing is done: {self.hub.log}")
        # An agent looks for a lost GPU every few seconds only. A fault that begins before it has seen
        # the GPU again is the old incident, about which nothing is done once a person has decided.
        until(lambda: not self.get("/v1/incidents")["incidents"], "the hub sees all GPUs again")
        self.slurm.clean()
        until(lambda: self.spare.get("standing") == "ready", f"the spare is back: {self.hub.log}")
        if "ReservationName=spares" not in self.slurm.scontrol("-o", "show", "reservations"):
            self.keep_spare()


@contextlib.contextmanager
def slurm_site(
    folder: Path, slurm: WorkingSlurm, nodes: Sequence[str], **more: Any
) -> Iterator[SlurmSite]:
    """All of it running."""
    site = SlurmSite(folder, slurm, nodes, **more)
    try:
        site.keep_spare()
        site.start_agents()
        site.start_hub()
        yield site
    finally:
        site.end()
