"""The commands by name: where each is written, and where the help of `accelwatch` lists it.

No command line parser is loaded here.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

USAGE = 2
UNKNOWN = 3

DAILY = "Daily use"
MACHINE = "This machine"
FLEET = "A fleet"
RUN = "Services"
ACT = "Act on nodes"
TRY = "Try without an accelerator"


class Collector(Enum):
    """What reads devices for a command, in a process of its own."""

    # No collector, or one that the command starts when it knows more.
    NONE = "none"
    ONE_READING = "one reading"
    LASTING = "lasting"


class Command(NamedTuple):
    """Where a command, or a group of several, is written: a module of `accelwatch.cli`."""

    module: str
    name: str
    # Where the help lists it; a command without one works and is not listed.
    heading: str = ""
    # What it does, in a line of that list.
    summary: str = ""
    # Which collector is forked before the command is imported.
    collector: Collector = Collector.NONE
    # The exit code of a mistake on its command line.
    usage_exit_code: int = USAGE


# Those without a heading are the default, for programs, or older names of `remedy ...`.
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "dashboard": Command(
            "startup.dashboard_command", "dashboard_command", DAILY,
            "Live dashboard; the default on a terminal", Collector.LASTING,
        ),
        "why": Command(
            "incidents.why_command", "why_command", DAILY,
            "What is wrong with a device, node, job or user; what to do",
        ),
        "check": Command(
            "check.check_command", "check_command", DAILY,
            "Health of this node in one line and a Nagios exit code",
            usage_exit_code=UNKNOWN,  # 2 is CRITICAL of a Nagios plug-in
        ),
        "doctor": Command(
            "node.doctor", "doctor_command", DAILY,
            "What is broken, which backends are used, and what to do",
        ),
        "usage": Command(
            "history.usage_command", "usage_command", DAILY,
            "Load, memory, energy and idle time by user and job",
        ),
        "pick": Command(
            "node.pick", "pick_command", DAILY,
            "Choose free, healthy devices, and run a command on them",
        ),
        "fleet": Command(
            "fleet.fleet", "fleet_command", DAILY,
            "Dashboard or table of many nodes: agents, exporters, ssh",
        ),
        "incidents": Command(
            "incidents.incidents_command", "incidents_command", DAILY,
            "Incidents that the rules opened: list, show, note, close",
        ),
        "silence": Command(
            "incidents.silence_command", "silence", DAILY,
            "Mute notifications for matching incidents",
        ),
        "rules": Command(
            "rules.rules_command", "rules", DAILY,
            "Check, test, list, explain, back-test and export rules",
        ),
        "topo": Command(
            "node.topo_command", "topo_command", MACHINE,
            "Links, PCIe and NUMA distance of devices and network adapters",
        ),
        "record": Command(
            "history.record", "record_command", MACHINE, "Record this machine into a file",
        ),
        "blackbox": Command(
            "history.blackbox_command", "blackbox", MACHINE,
            "The last minutes before a device failed: list, show, export",
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
            "Nodes whose driver, firmware or kernel differs from most",
        ),
        "lemons": Command(
            "fleet.lemons_command", "lemons_command", FLEET,
            "Devices, slots and nodes with repeated hardware faults",
        ),
        "report": Command(
            "fleet.report_command", "report_command", FLEET,
            "One HTML file: incidents, repeat offenders, evidence",
        ),
        "history": Command(
            "history.history_command", "history", FLEET,
            "Archives of a fleet as Parquet files: show, check, export",
        ),
        "simulate": Command(
            "simulate.simulate_group", "simulate", FLEET,
            "Recovery from faults: time, spares, checkpoint interval",
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
        "demo": Command(
            "trial.demo", "demo_command", TRY, "A simulated fleet with faults, in the dashboard"
        ),
        "sim": Command("trial.sim", "sim_command", TRY, "Simulated agents and exporters on loopback"),
        "lab": Command(
            "trial.lab_command", "lab", TRY, "A scheduler, a hub that acts and faults, on this machine"
        ),
        "snapshot": Command(
            "node.snapshot_command", "snapshot_command", collector=Collector.ONE_READING
        ),
        "backends": Command("node.doctor", "backends_command"),
        "stream": Command("servers.stream_command", "stream_command"),
        "bandwidth": Command("node.bandwidth_command", "bandwidth_command"),
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

HEADINGS = (DAILY, MACHINE, FLEET, RUN, ACT, TRY)
