"""What an action is: a key, what it does, and where it can be used."""

import msgspec

SCREEN = "screen_"
"""Begins the id of an action that opens a numbered screen; the screen's name follows."""
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
OF_FLEET = frozenset({FLEET, INCIDENTS, INCIDENT})
"""Screens that there are with a fleet only."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What a key does. The first key is the one that is shown."""

    id: str
    keys: tuple[str, ...]
    """In Textual's names."""
    label: str
    """One or two words for the footer."""
    help: str
    group: str
    screens: frozenset[str] = frozenset()
    """Where it can be used; empty: everywhere."""
    footer: bool = False
    priority: bool = False
    """Works while something is typed too."""
    replay_only: bool = False
    archive_only: bool = False
    """Only where a whole fleet is played."""
    sends: bool = False
    """Sends a signal, which only this machine's processes can get."""
    leaves: bool = False
    """Gives the terminal back, which a browser has not."""
    acts: bool = False
    """Says a person's word to a hub that acts."""
