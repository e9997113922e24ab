"""The site of week 4 of docs/fleet/observe-to-auto.md, with the YAML as the page has it.

Only what a test cannot wait for, or a machine has for itself, is another: times of minutes to hours
are seconds (`SHORTENED`), paths are in a folder, and all nodes are on one machine, so `remedy.nodes`
says who is who and targets come from a file with their ports.
"""

import contextlib
import getpass
import json
import re
import signal
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.base.names.host_ranges import expand
from accelwatch.expr.checking.boot import SLACK_S
from support.servers.agent_processes import AgentProcess
from support.slurm.lab_cluster import WorkingSlurm
from support.slurm.site import SlurmSite

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet" / "observe-to-auto.md"
# Of the page's YAML; `per_hour` and `spacing` are 3 and 2m where nothing is said.
SHORTENED = (
    ("verify: [{passive: 10m}]", "verify: [{passive: 2s}]"),
    ("grace: 60s", "grace: 2s"),
    ("budget: {share: 5%, most: 3}", "budget: {share: 5%, most: 3, per_hour: 100, spacing: 0s}"),
)
# Of the pack: how long a rule goes on and has to hold.
OF_PACKS = (
    (r"keep: \d+m\b", "keep: 1s"),
    (r"for: 45s", "for: 1s"),
)
# How long a machine is off at least: an event of the last seconds before a boot counts as after it.
OFF_S = SLACK_S + 2
REBOOT = """\
#!/bin/sh
echo "$ACCELWATCH_LAB_NODE" >> {folder}/reboots
"""


def blocks(week: str) -> dict[str, str]:
    """The YAML of a week, by the name of the file that it is for."""
    (section,) = [part for part in PAGE.read_text().split("\n## ") if part.startswith(week)]
    found = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return {Path(name).name: text for name, text in found}


def spares_line() -> str:
    """The line by which the page has an administrator make the reservation."""
    (line,) = re.findall(r"^scontrol (create reservation=.*)$", PAGE.read_text(), re.MULTILINE)
    return str(line)


class WeekFour(SlurmSite):
    """A site as the page leads to it; a machine that is rebooted comes back mended."""

    def __init__(self, folder: Path, slurm: WorkingSlurm, nodes: Sequence[str]) -> None:
        super().__init__(folder, slurm, nodes, devices=2)
        self._reboots = slurm.folder / "reboots"
        program = slurm.folder / "reboot"
        program.write_text(REBOOT.format(folder=slurm.folder))
        program.chmod(0o755)
        self.rebooted: list[str] = []
        self._ended = threading.Event()
        self._machines = threading.Thread(target=self._watch_machines, daemon=True)
        self._machines.start()

    def hub_name(self, node: str) -> str:
        return node

    def keep_spare(self) -> None:
        """As the page says, for the user that runs the hub."""
        words = spares_line().replace("users=accelwatch", f"users={getpass.getuser()}")
        self.slurm.scontrol(*words.split())

    def _hub_settings(self, targets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        folder = self.folder
        rules = folder / "rules.d"
        rules.mkdir()
        (rules / "acting.yaml").write_text(self._shortened(blocks("Week 4")["acting.yaml"]))
        pack = pack_file("nvidia").read_text()
        for before, after in OF_PACKS:
            pack, count = re.subn(before, after, pack)
            assert count, before
        pack = pack.replace("\nversion: 1\n", "\nversion: 1\ndefaults: {keep: 1s}\n", 1)
        (folder / "nvidia.yaml").write_text(pack)
        for name in ("oncall.url", "dead-man.url"):
            (folder / name).write_text("http://127.0.0.1:9/x")
            (folder / name).chmod(0o600)
        text = blocks("Before")["hub.yaml"] + blocks("Week 4")["hub.yaml"]
        text = self._shortened(text).replace("/etc/accelwatch", str(folder))
        text = text.replace("/var/lib/accelwatch-hub", str(folder))
        text = text.replace("/usr/local/sbin/bmc-is-off", "/bin/false")
        text = text.replace("/usr/local/sbin/bmc", "/bin/true")
        whole: dict[str, Any] = yaml.safe_load(text)
        labels = whole["targets"].pop("labels")
        del whole["targets"]["static"]
        self._listed = [{**one, "labels": {**one["labels"], **labels}} for one in targets]
        self._write_targets()
        whole["targets"]["files"] = [str(folder / "targets.json")]
        whole["scrape"] |= self._access()
        whole["rules"]["packs"].remove("nvidia")
        whole["rules"]["files"].append(str(folder / "nvidia.yaml"))
        (action,) = whole["remedy"]["actions"]
        action["options"] |= {
            "slurm_conf": str(self.slurm.conf),
            "commands": str(folder / "commands"),
        }
        whole["remedy"] |= {
            "nodes": {node: node for node in self.nodes},
            "stop_file": str(folder / "STOP"),
            "data_guard": {"startup_grace": "0s", "calm": "0s", "late": "60s"},
        }
        return {**whole, "state_dir": str(folder / "state")}

    def _write_targets(self) -> None:
        """Where each agent is reached; one that is restarted has another port."""
        for target in self._listed:
            target["targets"] = [self.agents[target["labels"]["node"]].address]
        fresh = self.folder / "targets.new"
        fresh.write_text(json.dumps(self._listed))
        fresh.replace(self.folder / "targets.json")

    def _root(self, node: str) -> Path:
        root = self.folder / node / "root"
        self._boot(root, time.time() - 86400)
        return root

    @staticmethod
    def _boot(root: Path, at: float) -> None:
        """What the kernel of a node tells of a boot at a moment, Unix seconds."""
        ids = root / "proc/sys/kernel/random"
        ids.mkdir(parents=True, exist_ok=True)
        (ids / "boot_id").write_text(f"{uuid.uuid4()}\n")
        (root / "proc/stat").write_text(f"btime {at:.0f}\n")

    def restart_agent(self, node: str) -> None:
        """As when its machine boots."""
        old = self.agents[node]
        old.kill()
        driver = self.drivers[node]
        web = str(self.folder / "web.yaml")
        agent = AgentProcess(old.folder, old.config, driver.environment(), web_config=web)
        agent.wait_for(lambda: bool(agent.address))
        self.agents[node] = agent
        self._write_targets()

    @staticmethod
    def _shortened(text: str) -> str:
        for before, after in SHORTENED:
            text = text.replace(before, after)
        return text

    def _watch_machines(self) -> None:
        while not self._ended.wait(0.1):
            lines = self._reboots.read_text().split() if self._reboots.exists() else []
            for node in lines[len(self.rebooted) :]:
                self.slurm.processes.signal(f"slurmd.{node}", signal.SIGKILL)
                self.repair(node)
                self._ended.wait(OFF_S)
                self._boot(self.folder / node / "root", time.time())
                self.restart_agent(node)
                self.slurm.start_node(node, booted=True)
                self.rebooted.append(node)

    def repair(self, node: str) -> None:
        """The driver finds all its devices well."""
        driver = self.drivers[node].system("count", 2).without_events()
        driver.set(0, "recovery_action", 0).unset(0, "lost").write()

    def end(self) -> None:
        self._ended.set()
        self._machines.join()
        super().end()


def spares() -> list[str]:
    """Those of the page."""
    (named,) = yaml.safe_load(blocks("Week 4")["hub.yaml"])["remedy"]["spares"]["nodes"]
    return list(expand(named))


@contextlib.contextmanager
def week_four(folder: Path, slurm: WorkingSlurm, nodes: Sequence[str]) -> Iterator[WeekFour]:
    """All of it running."""
    site = WeekFour(folder, slurm, nodes)
    try:
        site.keep_spare()
        site.start_agents()
        site.start_hub()
        yield site
    finally:
        site.end()
