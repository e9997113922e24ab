"""The commands by name: where each is written, and where the help of `accelwatch` lists it.

No command line parser is loaded here.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

USAGE = 2
UNKNOWN = 3

MACHINE = "Look at this machine"
FLEET = "Look at a fleet"
RUN = "Run"
ACT = "Act on nodes"
PAST = "Look back"
TRY = "Try without an accelerator"


class Collector(Enum):
    """What reads devices for a command, in a process of its own."""

    NONE = "none"
    """No collector, or one that the command starts when it knows more."""
    ONE_READING = "one reading"
    LASTING = "lasting"


class Command(NamedTuple):
    """Where a command, or a group of several, is written: a module of `accelwatch.cli`."""

    module: str
    name: str
    heading: str = ""
    """Where the help lists it; a command without one works and is not listed."""
    summary: str = ""
    """What it does, in a line of that list."""
    collector: Collector = Collector.NONE
    """Which collector is forked before the command is imported."""
    usage_exit_code: int = USAGE
    """The exit code of a mistake on its command line."""


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "dashboard": Command(
            "startup.dashboard_command", "dashboard_command", MACHINE,
            "Live dashboard; the default on a terminal", Collector.LASTING,
        ),
        "snapshot": Command(
            "node.snapshot_command", "snapshot_command", MACHINE,
            "One table or document of all devices; the default on a pipe", Collector.ONE_READING,
        ),
        "why": Command(
            "incidents.why_command", "why_command", MACHINE,
            "What is wrong with a device, node, job or user; what to do",
        ),
        "topo": Command(
            "node.topo_command", "topo_command", MACHINE,
            "Links, PCIe and NUMA distance of devices and network adapters",
        ),
        "usage": Command(
            "past.usage_command", "usage_command", MACHINE,
            "Load, memory, energy and idle time by user and job",
        ),
        "pick": Command(
            "node.pick", "pick_command", MACHINE,
            "Choose free, healthy devices, and run a command on them",
        ),
        "check": Command(
            "check.check_command", "check_command", MACHINE,
            "Health of this node in one line and a Nagios exit code",
            usage_exit_code=UNKNOWN,  # 2 is CRITICAL of a Nagios plug-in
        ),
        "doctor": Command(
            "node.doctor", "doctor_command", MACHINE,
            "What is broken, which backends are used, and what to do",
        ),
        "fleet": Command(
            "fleet.fleet", "fleet_command", FLEET,
            "Dashboard or table of many nodes: agents, exporters, ssh",
        ),
        "incidents": Command(
            "incidents.incidents_command", "incidents_command", FLEET,
            "Incidents that the rules opened: list, show, note, close",
        ),
        "silence": Command(
            "incidents.silence_command", "silence", FLEET,
            "Mute notifications for matching incidents",
        ),
        "maintenance": Command(
            "incidents.maintenance_command", "maintenance", FLEET,
            "Announce work on nodes; mutes notifications, pauses remedies",
        ),
        "avoid": Command(
            "fleet.avoid_command", "avoid_command", FLEET,
            "Nodes to keep new jobs off now, for Slurm, MPI, Kubernetes",
        ),
        "odd": Command(
            "fleet.odd_command", "odd_command", FLEET,
            "Nodes whose driver, firmware or kernel differs from the many",
        ),
        "report": Command(
            "fleet.report_command", "report_command", FLEET,
            "One HTML file: incidents, repeat offenders, evidence",
        ),
        "rules": Command(
            "rules.rules_command", "rules", FLEET,
            "Check, test, list, explain, back-test and export rules",
        ),
        "alerts": Command(
            "incidents.alerts_command", "alerts", FLEET,
            "Send a test notification to the configured receivers",
        ),
        "agent": Command(
            "servers.agent_command", "agent", RUN,
            "Prometheus exporter, API and stream of this node", Collector.LASTING,
        ),
        "hub": Command(
            "servers.hub", "hub_command", RUN,
            "Follows many nodes: API, metrics, rules, alerts, remedies",
        ),
        "serve": Command("servers.serve", "serve_command", RUN, "Dashboard in a browser, read-only"),
        "config": Command(
            "servers.config_command", "config", RUN, "Check and show the configuration of agent or hub"
        ),
        "remedy": Command(
            "remedy.remedy_group", "remedy", ACT,
            "What a hub does about incidents: list, plan, approve, stop",
        ),
        "audit": Command(
            "incidents.audit_command", "audit", ACT,
            "Who did what and when; verify that no entry is missing",
        ),
        "record": Command("past.record", "record_command", PAST, "Record this machine into a file"),
        "blackbox": Command(
            "past.blackbox_command", "blackbox", PAST,
            "The last minutes before a device failed: list, show, export",
        ),
        "history": Command(
            "past.history_command", "history", PAST,
            "Archives of a fleet as Parquet files: show, check, export",
        ),
        "demo": Command(
            "trial.demo", "demo_command", TRY, "A simulated fleet with faults, in the dashboard"
        ),
        "sim": Command("trial.sim", "sim_command", TRY, "Simulated agents and exporters on loopback"),
        "lab": Command(
            "trial.lab_command", "lab", TRY, "A scheduler, a hub that acts and faults, on this machine"
        ),
        "backends": Command("node.doctor", "backends_command"),
        "stream": Command("servers.stream_command", "stream_command"),
        "welcome": Command("node.welcome", "welcome_command"),
        "remedies": Command("remedy.remedy_commands", "remedies_command"),
        "plan": Command("remedy.remedy_commands", "plan_command"),
        "quarantine": Command("remedy.remedy_commands", "quarantine_command"),
        "release": Command("remedy.remedy_commands", "release_command"),
        "approve": Command("remedy.remedy_commands", "approve_command"),
        "deny": Command("remedy.remedy_commands", "deny_command"),
        "hold": Command("remedy.remedy_commands", "hold_command"),
        "spares": Command("remedy.spares_command", "spares_command"),
        "recovered": Command("remedy.remedy_commands", "recovered_command"),
        "retry": Command("remedy.remedy_commands", "retry_command"),
        "forget": Command("remedy.remedy_commands", "forget_command"),
        "stop": Command("remedy.remedy_commands", "stop_command"),
        "start": Command("remedy.remedy_commands", "start_command"),
        "breaker": Command("remedy.remedy_commands", "breaker_command"),
        "actions": Command("remedy.actions_command", "actions"),
    }
)  # fmt: skip
"""Those without a heading are for programs, or older names of `remedy ...`."""

HEADINGS = (MACHINE, FLEET, RUN, ACT, PAST, TRY)
