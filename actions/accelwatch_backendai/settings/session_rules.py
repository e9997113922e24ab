"""Options for sessions of a quarantined agent: which are moved, which stay as they are."""

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.base.errors import ConfigError

# Column `name` and `tag` of a session have 64 characters, the name of a project as many.
_Pattern = Annotated[str, Meta(min_length=1, max_length=128)]


class SessionType(StrEnum):
    """What a session is for, as Backend.AI names it."""

    BATCH = "batch"
    INTERACTIVE = "interactive"
    # A replica of a model service.
    INFERENCE = "inference"
    SYSTEM = "system"


class Leave(StrEnum):
    """What becomes of a session of a quarantined agent."""

    # It is ended, and created anew elsewhere.
    MOVE = "move"
    # It is named to people and left alone.
    STAY = "stay"


class SessionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of some sessions; the first rule that a session fits counts.

    In names, `*` stands for anything. FastTrack's tasks are ordinary sessions and nothing in the API
    marks them as its own, so a site that runs it names them here, by their users' project, or by how its
    pipelines name or tag sessions, with `leave: stay`: FastTrack itself runs a task anew.
    """

    types: list[SessionType] = []
    projects: list[_Pattern] = []
    names: list[_Pattern] = []
    tags: list[_Pattern] = []
    leave: Leave
    # Whether they are ended even where others depend on them, which then start too soon, or never.
    ignore_dependents: bool = False

    def __post_init__(self) -> None:
        if self.ignore_dependents and self.leave is Leave.STAY:
            raise ConfigError("ignore_dependents: expected with `leave: move` only")

    def fits(self, *, session_type: str, project: str, name: str, tag: str) -> bool:
        """Whether a session is one of those that it is about."""
        return (
            (not self.types or session_type in self.types)
            and _is_named(project, self.projects)
            and _is_named(name, self.names)
            and _is_named(tag, self.tags)
        )


def _is_named(text: str, patterns: list[_Pattern]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)
