"""Who may do what: bearer tokens of users, and RBAC's roles and bindings as they are stored."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Store
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock
from accelwatch_lab.cluster.kubernetes.api_server.status import RequestError

Object = dict[str, Any]
_MASTERS = "system:masters"
_ACCOUNT = "system:serviceaccount:"
# Everybody may query his own rights and what is served.
_OF_ALL = {"selfsubjectaccessreviews", "selfsubjectreviews"}


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Whose a token is."""

    name: str
    groups: tuple[str, ...] = ()
    # Unix seconds of the server's clock; None: never.
    expires_at: float | None = None


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What an account wants to do; a subresource is in the resource, `pods/eviction`."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class Access:
    """The tokens of a server, and the rules that it has stored."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._users: dict[str, User] = {}

    def add(self, token: str, user: User) -> None:
        """From now on the token is the user's."""
        self._users[token] = user

    def read(self, file: Path) -> None:
        """Add those of a file of kube-apiserver's `--token-auth-file`. Raises OSError."""
        with file.open(newline="") as rows:
            for token, name, _, *groups in csv.reader(rows):
                self.add(token, User(name=name, groups=tuple(",".join(groups).split(","))))

    def revoke(self, token: str) -> None:
        """From now on nobody is known by it."""
        self._users.pop(token, None)

    def user_of(self, authorization: str) -> User:
        """Of a request's header. Raises RequestError: 401 for an unknown or expired token."""
        kind, _, token = authorization.partition(" ")
        user = self._users.get(token.strip()) if kind.lower() == "bearer" else None
        expired = (
            user is not None
            and user.expires_at is not None
            and user.expires_at <= self._clock.now()
        )
        if user is None or expired:
            raise RequestError(401, "Unauthorized", "Unauthorized")
        return user

    def allows(self, user: User, desired: Attributes) -> bool:
        """Whether the user may."""
        if _MASTERS in user.groups or desired.resource in _OF_ALL:
            return True
        return any(_rule_allows(rule, desired) for rule in self._rules(user, desired.namespace))

    def check(self, user: User, desired: Attributes) -> None:
        """Raises RequestError: 403, in the server's words."""
        if self.allows(user, desired):
            return
        where = (
            f'in the namespace "{desired.namespace}"'
            if desired.namespace
            else "at the cluster scope"
        )
        plural = desired.resource.partition("/")[0]
        full = f"{plural}.{desired.group}" if desired.group else plural
        what = f'{full} "{desired.name}"' if desired.name else full
        message = (
            f'{what} is forbidden: User "{user.name}" cannot {desired.verb} resource'
            f' "{desired.resource}" in API group "{desired.group}" {where}'
        )
        raise RequestError(
            403, "Forbidden", message, name=desired.name, kind=plural, group=desired.group
        )

    def _rules(self, user: User, namespace: str) -> Iterator[Object]:
        for binding in self._store.objects(CLUSTER_ROLE_BINDINGS):
            if _is_bound(binding, user):
                yield from self._role(binding, "")
        for binding in self._store.objects(ROLE_BINDINGS, namespace) if namespace else ():
            if _is_bound(binding, user):
                yield from self._role(binding, namespace)

    def _role(self, binding: Object, namespace: str) -> list[Object]:
        reference = binding["roleRef"]
        resource, where = (ROLES, namespace) if reference["kind"] == "Role" else (CLUSTER_ROLES, "")
        entry = self._store.get(resource, where, reference["name"])
        return (entry.object.get("rules") or []) if entry is not None else []


def _is_bound(binding: Object, user: User) -> bool:
    for subject in binding.get("subjects") or ():
        name = subject["name"]
        match subject["kind"]:
            case "User":
                bound = name == user.name
            case "Group":
                bound = name in user.groups
            case _:
                bound = f"{_ACCOUNT}{subject.get('namespace', '')}:{name}" == user.name
        if bound:
            return True
    return False


def _rule_allows(rule: Object, desired: Attributes) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _includes(rule.get("verbs"), desired.verb)
        and _includes(rule.get("apiGroups"), desired.group)
        and _includes(rule.get("resources"), desired.resource)
        and (not names or desired.name in names)
    )


def _includes(allowed: list[str] | None, value: str) -> bool:
    return allowed is not None and ("*" in allowed or value in allowed)
