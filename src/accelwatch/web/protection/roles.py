"""What somebody who has proved who he is may do: the section `roles` of a web configuration."""

from collections.abc import Container, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from accelwatch.system.located_yaml.complaint import Complaint


class Role(StrEnum):
    """Each may do what those before it may."""

    READ = "read"
    # Say yes or no to what is proposed.
    APPROVE = "approve"
    # Change what is shown and notified, drain nodes and release them.
    ACT = "act"
    # Stop and start, and what undoes a protection.
    ADMIN = "admin"

    @property
    def weight(self) -> int:
        """Greater may do more."""
        return list(Role).index(self)

    def may(self, needed: "Role") -> bool:
        """Whether it is enough where another role is needed."""
        return self.weight >= needed.weight


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """The section as written: users, token files, and names in client certificates by what they may do.

    Whoever is not listed may read.
    """

    approve: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    admin: tuple[str, ...] = ()

    def listed(self) -> Iterator[tuple[Role, str]]:
        """Each name with its role."""
        for role, names in (
            (Role.APPROVE, self.approve),
            (Role.ACT, self.act),
            (Role.ADMIN, self.admin),
        ):
            for name in names:
                yield role, name


def mistakes_in(
    roles: Roles, folder: Path, configured: Container[str], *, certificates: bool, position: str
) -> Iterator[Complaint]:
    """Names that nobody can have, and names with two roles."""
    before: dict[str, Role] = {}
    for role, written in roles.listed():
        key, name = f"roles.{role}", _resolved(written, folder, configured)
        if name in before:
            yield Complaint(position, key, f"{written!r} is listed under {before[name]} as well")
        elif name not in configured and not certificates:
            text = "is neither in basic_auth_users nor one of the token files"
            yield Complaint(position, key, f"{written!r} {text}")
        before[name] = role


def by_name(roles: Roles, folder: Path, configured: Container[str]) -> Mapping[str, Role]:
    """The role of each name; token files by their path."""
    return {_resolved(name, folder, configured): role for role, name in roles.listed()}


def _resolved(name: str, folder: Path, configured: Container[str]) -> str:
    """A token file is written as everywhere in the configuration, from the folder that it stands in."""
    path = str(folder / name)
    return path if name not in configured and path in configured else name
