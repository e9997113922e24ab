"""The patches of the API: JSON merge patch (RFC 7386), JSON patch (RFC 6902), strategic merge patch."""

import copy
from collections.abc import Sequence
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.objects.schema import Field, definitions
from accelwatch_lab.cluster.kubernetes.api_server.status import bad_request, unprocessable

Object = dict[str, Any]
MERGE, JSON, STRATEGIC, APPLY = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


def merge(target: Any, patch: Any) -> Any:
    """A merge patch applied; null removes, a list replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Object, patch: Object, definition: str) -> Object:
    """A strategic merge patch applied: lists with a merge key are merged, others replaced."""
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    fields = definitions().get(definition, {})
    result = dict(target)
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name, ()) if item not in value]
        elif key.startswith("$"):
            continue  # the order of elements: nobody reads it
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _strategic_field(result.get(key), value, fields.get(key, Field("any")))
    return result


def _strategic_field(old: Any, value: Any, field: Field) -> Any:
    if isinstance(value, list) and field.merge_key is not None:
        return _merged_list(old or [], value, field)
    if isinstance(value, dict):
        if field.is_map or field.type == "any":
            return merge(old, value)
        return strategic(old or {}, value, field.type)
    return value


def _merged_list(old: list[Any], patch: list[Any], field: Field) -> list[Any]:
    key = field.merge_key
    if not key:
        return [*old, *(item for item in patch if item not in old)]
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = list(old)
    fresh = []
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        index = next((i for i, each in enumerate(result) if each.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            result = [each for each in result if each.get(key) != item[key]]
        elif index is None:
            fresh.append(item)
        else:
            result[index] = strategic(result[index], item, field.type)
    # The server puts what is new before what was there.
    return [*fresh, *result]


def apply_json(target: Object, operations: Any) -> Object:
    """A JSON patch applied. Raises RequestError: 422 where a test fails or a path is not there."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: json: cannot unmarshal object into a JSON patch")
    result: Any = copy.deepcopy(target)
    for operation in operations:
        try:
            result = _apply(result, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise unprocessable() from error
    if not isinstance(result, dict):
        raise unprocessable()
    return result


def _apply(target: Any, operation: Object) -> Any:
    path = _tokens(operation["path"])
    match operation["op"]:
        case "test":
            if _at(target, path) != operation["value"]:
                raise ValueError("a test has failed")
        case "add":
            return _add(target, path, operation["value"])
        case "replace":
            _at(target, path)
            return _add(_remove(target, path), path, operation["value"])
        case "remove":
            return _remove(target, path)
        case "copy" | "move":
            source = _tokens(operation["from"])
            value = copy.deepcopy(_at(target, source))
            target = _remove(target, source) if operation["op"] == "move" else target
            return _add(target, path, value)
        case other:
            raise ValueError(other)
    return target


def _tokens(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _at(target: Any, path: Sequence[str]) -> Any:
    for token in path:
        target = target[int(token)] if isinstance(target, list) else target[token]
    return target


def _add(target: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _at(target, path[:-1])
    if isinstance(parent, list):
        index = len(parent) if path[-1] == "-" else int(path[-1])
        if index > len(parent):
            raise IndexError(index)
        parent.insert(index, value)
    else:
        parent[path[-1]] = value
    return target


def _remove(target: Any, path: Sequence[str]) -> Any:
    if not path:
        return None
    parent = _at(target, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return target
