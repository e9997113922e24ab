"""The roles of the manifests allow what our code asks of an API server: nothing less, nothing more."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch_kubernetes.access.permissions import NEEDED
from support.kubernetes.permissions import (
    ACTION,
    HUB,
    REQUESTS,
    STATUS,
    Permission,
    calls,
    granted,
    needed,
)


def objects(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text("utf-8")))


@pytest.mark.parametrize("owner", REQUESTS)
def test_each_call_in_the_code_has_its_row_and_each_row_its_call(owner: str) -> None:
    rows = {(request.module, request.call) for request in REQUESTS[owner]}
    sent = calls(owner)
    if owner == HUB:
        # `client` of other modules of the hub is not a cluster's.
        sent = {(module, call) for module, call in sent if call.endswith("Collection")}
    assert sent == rows


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("hub/kubernetes-rbac.yaml", HUB),
        ("kubernetes/hub.yaml", HUB),
        ("kubernetes/hub-actions.yaml", ACTION),
        ("kubernetes/hub-status.yaml", STATUS),
    ],
)
def test_roles_allow_what_is_sent_and_nothing_else(examples: Path, file: str, owner: str) -> None:
    assert granted(objects(examples / file)) == needed(owner)


@pytest.mark.parametrize("name", ["hub.yaml", "hub-actions.yaml", "hub-status.yaml"])
def test_roles_are_bound_to_the_hubs_account_and_to_nobody_else(examples: Path, name: str) -> None:
    found = objects(examples / "kubernetes" / name)
    roles = {
        (one["kind"], one["metadata"]["name"]) for one in found if one["kind"].endswith("Role")
    }
    bindings = [one for one in found if one["kind"].endswith("Binding")]
    assert {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in bindings} == roles
    account = {"kind": "ServiceAccount", "name": "accelwatch-hub", "namespace": "accelwatch"}
    assert all(one["subjects"] == [account] for one in bindings)


def test_what_the_action_requests_about_itself_is_what_it_sends() -> None:
    requested = {
        Permission(one.group, f"{one.resource}/{one.subresource}".rstrip("/"), one.verb)
        for one in NEEDED
    }
    assert requested <= needed(ACTION)


def test_a_hub_that_only_looks_may_change_nothing() -> None:
    assert {permission.verb for permission in needed(HUB)} == {"list", "watch"}


def test_no_role_reads_secrets_makes_pods_or_changes_roles(examples: Path) -> None:
    names = ("hub.yaml", "hub-actions.yaml", "hub-status.yaml")
    every = [one for name in names for one in objects(examples / "kubernetes" / name)]
    allowed = granted(every)
    assert not {permission.resource for permission in allowed} & {
        *("secrets", "configmaps", "serviceaccounts", "serviceaccounts/token"),
        *(
            "pods/exec",
            "pods/attach",
            "pods/portforward",
            "pods/ephemeralcontainers",
            "nodes/proxy",
        ),
    }
    assert not {permission.group for permission in allowed} & {"rbac.authorization.k8s.io"}
    assert not {permission.verb for permission in allowed} & {
        *("escalate", "bind", "impersonate", "deletecollection", "update", "approve"),
    }
    created = {permission.resource for permission in allowed if permission.verb == "create"}
    assert created <= {"pods/eviction", "events", "devicetaintrules"}
