"""Actions that open a screen."""

from accelwatch.tui.state.action import Action

SCREEN_LOCAL = Action(
    group="Screens",
    id="screen_local",
    keys=("1",),
    label="local",
    help="Local: devices, history of the selected one, processes.",
)
SCREEN_FLEET = Action(
    group="Screens",
    id="screen_fleet",
    keys=("2",),
    label="fleet",
    help="Fleet: all nodes, worst first; with `accelwatch fleet`.",
)
SCREEN_DEVICE = Action(
    group="Screens",
    id="screen_device",
    keys=("3",),
    label="device",
    help="Device: every quantity of the selected device.",
)
SCREEN_PROCESSES = Action(
    group="Screens",
    id="screen_processes",
    keys=("4",),
    label="processes",
    help="Processes: all of them, in full.",
)
SCREEN_INCIDENTS = Action(
    group="Screens",
    id="screen_incidents",
    keys=("5",),
    label="incidents",
    help="Incidents opened by the rules of this machine's agent, or of the hub.",
)
SCREEN_DOCTOR = Action(
    group="Screens",
    id="screen_doctor",
    keys=("6",),
    label="doctor",
    help="Doctor: what is broken, what is used, and what to do.",
)
TOPOLOGY = Action(
    group="Screens",
    id="topology",
    keys=("L",),
    label="topology",
    help="Topology: links, PCIe and NUMA distance between devices and network adapters.",
)
USAGE_PAGE = Action(
    group="Screens",
    id="usage",
    keys=("u",),
    label="usage",
    help="Usage by user and job: load, memory, energy, cost and idle time.",
)
SCREEN_EVENTS = Action(
    group="Screens",
    id="screen_events",
    keys=("7",),
    label="events",
    help="Events: every change of state and every event; Enter opens the device.",
)
NEXT_SCREEN = Action(
    group="Screens",
    id="next_screen",
    keys=("tab",),
    label="next screen",
    help="The next screen.",
    footer=True,
)
PREVIOUS_SCREEN = Action(
    group="Screens",
    id="previous_screen",
    keys=("shift+tab",),
    label="previous screen",
    help="The previous screen.",
)
SETTINGS = Action(
    group="Screens",
    id="settings",
    keys=("f2",),
    label="settings",
    help="Settings; written to a file on request.",
)

OF_SCREENS: tuple[Action, ...] = (
    SCREEN_LOCAL,
    SCREEN_FLEET,
    SCREEN_DEVICE,
    SCREEN_PROCESSES,
    SCREEN_INCIDENTS,
    SCREEN_DOCTOR,
    TOPOLOGY,
    USAGE_PAGE,
    SCREEN_EVENTS,
    NEXT_SCREEN,
    PREVIOUS_SCREEN,
    SETTINGS,
)
