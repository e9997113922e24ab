"""The OpenAPI document: made from the rows of the routes and the structs of their bodies and answers."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from accelwatch.base.version import __version__
from accelwatch.web.pages.page import JSON
from accelwatch.web.pages.routes import Parameter, Route
from accelwatch.web.protection.roles import Role

_PATH_PARAMETERS = {"node": "Name of the node.", "id": "Its id."}
_STRING = {"type": "string"}
_TEXTS = {"text/plain": {"schema": _STRING}}
_REFUSALS = {
    "400": "A parameter is not valid; the text says which.",
    "401": "Credentials are needed.",
    "403": "Not admitted.",
    "404": "Not found; the text names it.",
    "405": "Another method is needed; see Allow.",
    "409": "Another hub leads, or the plan has changed; the text says which.",
    "413": "A body has more than 65536 bytes, or no Content-Length.",
    "415": "A body has a Content-Encoding, or is not JSON.",
    "503": "Too many requests; try again.",
}


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """The document, version 3.1."""
    rows = tuple(routes)
    structs = {
        struct for route in rows for struct in (route.answer, route.body) if struct is not None
    }
    _, components = msgspec.json.schema_components(
        sorted(structs, key=lambda struct: struct.__name__),
        ref_template="#/components/schemas/{name}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for route in rows:
        operations = paths.setdefault(route.template, {})
        operations[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "accelwatch hub",
            "version": __version__,
            "description": "Every accelerator of a fleet, honestly aged.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"basic": []}, {"bearer": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    answer = route.answer
    content = {media: {} if answer is None else _schema_of(answer) for media in route.media}
    refusals = {
        code: {"description": text, "content": _TEXTS}
        for code, text in {**_REFUSALS, **route.errors}.items()
    }
    operation: dict[str, Any] = {
        "summary": route.summary,
        "parameters": [
            *map(_path_parameter, route.path_parameters),
            *map(_query_parameter, route.parameters),
        ],
        "responses": {"200": {"description": route.summary, "content": content}, **refusals},
    }
    if route.role is not Role.READ:
        operation["description"] = f"Needs the role {route.role}, where there are logins."
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: _schema_of(route.body)}}
    return operation


def _schema_of(struct: type[msgspec.Struct]) -> Mapping[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{struct.__name__}"}}


def _path_parameter(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "description": _PATH_PARAMETERS[name],
        "required": True,
        "schema": _STRING,
    }


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.text,
        "required": parameter.required,
        "schema": dict(parameter.schema),
    }
