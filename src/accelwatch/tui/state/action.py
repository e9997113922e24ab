"""What an action is: a key, what it does, and where it can be used."""

import msgspec

# Begins the id of an action that opens a numbered screen; the screen's name follows.
SCREEN = "screen_"
LOCAL, DEVICE, PROCESSES, DOCTOR = "local", "device", "processes", "doctor"
FLEET = "fleet"
EVENTS, BLACK_BOX = "events", "black box"
USAGE = "usage"
TABLES = frozenset({LOCAL, PROCESSES})
LISTS = TABLES | {FLEET}
INCIDENTS, INCIDENT = "incidents", "incident"
ON_INCIDENTS = frozenset({INCIDENTS, INCIDENT})
SORTED = LISTS | {INCIDENTS}
ONLY_FLEET = frozenset({FLEET})
# Screens that there are with a fleet only.
OF_FLEET = frozenset({FLEET, INCIDENTS, INCIDENT})


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What a key does. The first key is the one that is shown."""

    id: str
    # In Textual's names.
    keys: tuple[str, ...]
    # One or two words for the footer.
    label: str
    help: str
    group: str
    # Where it can be used; empty: everywhere.
    screens: frozenset[str] = frozenset()
    footer: bool = False
    # Works while something is typed too.
    priority: bool = False
    replay_only: bool = False
    # Only where a whole fleet is played.
    archive_only: bool = False
    # Sends a signal, which only this machine's processes can get.
    sends: bool = False
    # Gives the terminal back, which a browser has not.
    leaves: bool = False
    # Sends a person's command to a hub that acts.
    acts: bool = False
