"""The commands by name: where each is written, and where the help of `accelwatch` lists it.

No command line parser is loaded here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

LOOK = "Look at this machine"
FLEET = "Look at a fleet"
RUN = "Run"
ACT = "Act on nodes"
PAST = "Look back"
TRY = "Try without an accelerator"


class Command(NamedTuple):
    """Where a command, or an application of several, is written: a module of `accelwatch.cli`."""

    module: str
    name: str
    heading: str = ""
    """Where the help lists it; a command without one works and is not listed."""
    summary: str = ""
    """What it does, in a line of that list."""
    cls: str = ""
    """The class of the command, where it is the module's own."""
    more_words: bool = False
    """Whether it takes words that are no options of it."""


SNAPSHOT = "One table or document of all devices; the default on a pipe"

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "dashboard": Command(
            "dashboard_command", "dashboard_command", LOOK,
            "Live dashboard; the default on a terminal",
        ),
        "why": Command(
            "why_command", "why_command", LOOK,
            "What is wrong with a device, node, job or user; what to do",
        ),
        "topo": Command(
            "topo_command", "topo_command", LOOK,
            "Links, PCIe and NUMA distance of devices and network adapters",
        ),
        "usage": Command(
            "usage_command", "usage_command", LOOK,
            "Load, memory, energy and idle time by user and job",
        ),
        "pick": Command(
            "pick", "pick_command", LOOK,
            "Choose free, healthy devices, and run a command on them",
            more_words=True,
        ),
        "check": Command(
            "check_command", "check_command", LOOK,
            "Health of this node in one line and a Nagios exit code",
            cls="CheckCommand",
        ),
        "doctor": Command(
            "doctor", "doctor_command", LOOK,
            "What is broken, which backends are used, and what to do",
        ),
        "fleet": Command(
            "fleet", "fleet_command", FLEET,
            "Dashboard or table of many nodes: agents, exporters, ssh",
        ),
        "incidents": Command(
            "incidents_command", "incidents_command", FLEET,
            "Incidents that the rules opened: list, show, note, close",
        ),
        "silence": Command(
            "silence_command", "silence", FLEET,
            "Mute notifications for matching incidents",
        ),
        "maintenance": Command(
            "maintenance_command", "maintenance", FLEET,
            "Announce work on nodes; mutes notifications, pauses remedies",
        ),
        "avoid": Command(
            "avoid_command", "avoid_command", FLEET,
            "Nodes to keep new jobs off now, for Slurm, MPI, Kubernetes",
        ),
        "odd": Command(
            "odd_command", "odd_command", FLEET,
            "Nodes whose driver, firmware or kernel differs from the many",
        ),
        "report": Command(
            "report_command", "report_command", FLEET,
            "One HTML file: incidents, repeat offenders, evidence",
        ),
        "rules": Command(
            "rules_command", "rules", FLEET,
            "Check, test, list, explain, back-test and export rules",
        ),
        "alerts": Command(
            "alerts_command", "alerts", FLEET,
            "Send a test notification to the configured receivers",
        ),
        "agent": Command(
            "agent_command", "agent", RUN,
            "Prometheus exporter, API and stream of this node",
        ),
        "hub": Command(
            "hub", "hub_command", RUN,
            "Follows many nodes: API, metrics, rules, alerts, remedies",
        ),
        "serve": Command("serve", "serve_command", RUN, "Dashboard in a browser, read-only"),
        "config": Command(
            "config_command", "config", RUN, "Check and show the configuration of agent or hub"
        ),
        "remedy": Command(
            "remedy_group", "remedy", ACT,
            "What a hub does about incidents: list, plan, approve, stop",
        ),
        "audit": Command(
            "audit_command", "audit", ACT, "Who did what and when; verify that no entry is missing"
        ),
        "record": Command("record", "record_command", PAST, "Record this machine into a file"),
        "blackbox": Command(
            "blackbox_command", "blackbox", PAST,
            "The last minutes before a device failed: list, show, export",
        ),
        "history": Command(
            "history_command", "history", PAST,
            "Archives of a fleet as Parquet files: show, check, export",
        ),
        "demo": Command(
            "demo", "demo_command", TRY, "A simulated fleet with faults, in the dashboard"
        ),
        "sim": Command("sim", "sim_command", TRY, "Simulated agents and exporters on loopback"),
        "lab": Command(
            "lab_command", "lab", TRY, "A scheduler, a hub that acts and faults, on this machine"
        ),
        "backends": Command("doctor", "backends_command"),
        "stream": Command("stream_command", "stream_command"),
        "welcome": Command("welcome", "welcome_command"),
        "remedies": Command("remedy_commands", "remedies_command"),
        "plan": Command("remedy_commands", "plan_command"),
        "quarantine": Command("remedy_commands", "quarantine_command"),
        "release": Command("remedy_commands", "release_command"),
        "approve": Command("remedy_commands", "approve_command"),
        "deny": Command("remedy_commands", "deny_command"),
        "hold": Command("remedy_commands", "hold_command"),
        "spares": Command("spares_command", "spares_command"),
        "recovered": Command("remedy_commands", "recovered_command"),
        "retry": Command("remedy_commands", "retry_command"),
        "forget": Command("remedy_commands", "forget_command"),
        "stop": Command("remedy_commands", "stop_command"),
        "start": Command("remedy_commands", "start_command"),
        "breaker": Command("remedy_commands", "breaker_command"),
        "actions": Command("actions_command", "actions"),
    }
)  # fmt: skip
"""All but `snapshot`. Those without a heading are for programs, or older names of `remedy ...`."""

HEADINGS = (LOOK, FLEET, RUN, ACT, PAST, TRY)
