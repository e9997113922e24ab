"""What the server refuses with 422: names, labels, taints, changes of what does not change."""

import re
from collections.abc import Iterator
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    NODES,
    PODS,
    TAINT_RULES,
    Resource,
)
from accelwatch_lab.cluster.kubernetes.api_server.status import invalid

Object = dict[str, Any]
Problem = tuple[str, str, str]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_MOST_NAME, _MOST_KEY_NAME, _MOST_VALUE = 253, 63, 63
_MOST_ANNOTATIONS_BYTES = 256 << 10
_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LABEL_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
    " an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
)
_NODE_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DEVICE_EFFECTS = ("NoExecute", "NoSchedule", "None")
# What of a pod's spec may change after its creation.
_MAY_CHANGE = {"activeDeadlineSeconds", "tolerations", "containers", "initContainers", "nodeName"}
_POD_UPDATE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to"
    " existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was"
    " previously negative)"
)


def check(resource: Resource, stored: Object, previous: Object | None = None) -> None:
    """Raises RequestError with every problem of a new object, or of a change of the previous one."""
    problems = [*_metadata(stored["metadata"]), *_own(resource, stored)]
    if previous is not None:
        problems += _changes(resource, stored, previous)
    if problems:
        raise invalid(resource.kind, resource.group, stored["metadata"].get("name", ""), problems)


def _metadata(metadata: Object) -> Iterator[Problem]:
    name = metadata.get("name", "")
    if not name:
        yield _required("metadata.name", "name or generateName is required")
    # RBAC's names may have colons.
    elif len(name) > _MOST_NAME or not _NAME.fullmatch(name.replace(":", "-")):
        yield _wrong("metadata.name", name, _SUBDOMAIN)
    for key, value in metadata.get("labels", {}).items():
        yield from _key("metadata.labels", key)
        yield from _value("metadata.labels", value)
    annotations = metadata.get("annotations", {})
    for key in annotations:
        yield from _key("metadata.annotations", key)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MOST_ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {_MOST_ANNOTATIONS_BYTES} bytes"
        yield "metadata.annotations", "FieldValueTooLong", text


def _own(resource: Resource, stored: Object) -> Iterator[Problem]:
    spec = stored.get("spec", {})
    if resource.key == NODES.key:
        yield from _taints(spec.get("taints", ()))
    elif resource.key == PODS.key and not spec.get("containers"):
        yield _required("spec.containers")
    elif resource.key == TAINT_RULES.key:
        taint = spec.get("taint", {})
        if not taint.get("key"):
            yield _required("spec.taint.key", "name part must be non-empty")
        yield from _effect("spec.taint", taint, _DEVICE_EFFECTS)
        yield from _value("spec.taint.value", taint.get("value", ""))


def _taints(taints: list[Object]) -> Iterator[Problem]:
    keys = set()
    for index, taint in enumerate(taints):
        # Kubernetes names the field so.
        field = f"metadata.taints[{index}]"
        yield from _key(f"{field}.key", taint.get("key", ""))
        yield from _value(f"{field}.value", taint.get("value", ""))
        yield from _effect(field, taint, _NODE_EFFECTS)
        key = taint.get("key", ""), taint.get("effect", "")
        if key in keys:
            text = "taints must be unique by key and effect pair"
            yield field, "FieldValueDuplicate", f'Duplicate value: "{key[0]}": {text}'
        keys.add(key)


def _effect(field: str, taint: Object, allowed: tuple[str, ...]) -> Iterator[Problem]:
    effect = taint.get("effect", "")
    if not effect:
        yield _required(f"{field}.effect")
    elif effect not in allowed:
        choices = ", ".join(f'"{choice}"' for choice in allowed)
        text = f'Unsupported value: "{effect}": supported values: {choices}'
        yield f"{field}.effect", "FieldValueNotSupported", text


def _key(field: str, key: str) -> Iterator[Problem]:
    if not _KEY.fullmatch(key) or len(key.rpartition("/")[2]) > _MOST_KEY_NAME:
        yield _wrong(field, key, _LABEL_KEY)


def _value(field: str, value: str) -> Iterator[Problem]:
    if len(value) > _MOST_VALUE:
        yield _wrong(field, value, f"must be no more than {_MOST_VALUE} bytes")
    elif not _VALUE.fullmatch(value):
        yield _wrong(field, value, _LABEL_VALUE)


def _changes(resource: Resource, stored: Object, previous: Object) -> Iterator[Problem]:
    for field in ("uid", "name", "namespace", "creationTimestamp"):
        value = stored["metadata"].get(field)
        if value != previous["metadata"].get(field):
            yield _wrong(f"metadata.{field}", f"{value}", "field is immutable")
    if resource.key == PODS.key:
        yield from _pod_changes(stored.get("spec", {}), previous.get("spec", {}))


def _pod_changes(spec: Object, before: Object) -> Iterator[Problem]:
    fixed = {
        key
        for key in (spec.keys() | before.keys()) - _MAY_CHANGE
        if spec.get(key) != before.get(key)
    }
    moved = before.get("nodeName", spec.get("nodeName")) != spec.get("nodeName")
    kept = all(
        toleration in spec.get("tolerations", ()) for toleration in before.get("tolerations", ())
    )
    if fixed or moved or not kept:
        yield "spec", "FieldValueForbidden", f"Forbidden: {_POD_UPDATE}"


def _required(field: str, detail: str = "") -> Problem:
    return field, "FieldValueRequired", f"Required value{': ' if detail else ''}{detail}"


def _wrong(field: str, value: str, detail: str) -> Problem:
    return field, "FieldValueInvalid", f'Invalid value: "{value}": {detail}'
