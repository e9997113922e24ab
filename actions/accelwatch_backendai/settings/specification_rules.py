"""Options that say how sessions are created anew, as far as the manager does not say it itself."""

from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.base.errors import ConfigError

# Columns of a session: 64 characters for its name and its tag, as many for the name of a project.
_Pattern = Annotated[str, Meta(min_length=1, max_length=128)]


class SpecificationRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How some sessions were made; the first rule that fits counts, `*` stands for anything."""

    names: list[_Pattern] = []
    # Of the session as its user made it: one that was created anew has a tag of ours.
    tags: list[_Pattern] = []
    projects: list[_Pattern] = []
    # File with what the manager does not say, YAML or JSON; only its owner should read it.
    file: str = ""
    # A session template whose specification these sessions have, by its id.
    template: str = ""
    # Whether their folders are mounted where Backend.AI mounts them by default, with the rights that
    # they have anyway: the manager says which folders a session has mounted, not where.
    default_mount_paths: bool = False

    def __post_init__(self) -> None:
        if self.file and self.template:
            raise ConfigError("file: there is a template as well; expected one of them")
        if self.file and not PurePosixPath(self.file).is_absolute():
            raise ConfigError("file: expected an absolute path")

    def fits(self, *, name: str, tag: str, project: str) -> bool:
        """Whether a session is one of those."""
        patterns = ((name, self.names), (tag, self.tags), (project, self.projects))
        return all(
            not listed or any(fnmatchcase(text, pattern) for pattern in listed)
            for text, listed in patterns
        )
