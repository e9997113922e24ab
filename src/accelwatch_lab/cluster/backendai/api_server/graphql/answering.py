"""POST /admin/gql: 200 whatever becomes of it, but for what cannot be read."""

from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSyntaxError,
    execute_sync,
    parse,
    validate,
)

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.graphql.resolving import Root
from accelwatch_lab.cluster.backendai.api_server.graphql.schema import schema
from accelwatch_lab.cluster.backendai.api_server.manager import Manager

_SCHEMA = schema()


def answer(manager: Manager, caller: Keypair, body: Any, not_ok: bool = False) -> dict[str, Any]:
    """The document. Raises RequestError."""
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        raise problems.invalid("query: Field required")
    document, invalid = _document(body["query"])
    result = ExecutionResult(None, list(invalid))
    if not invalid:
        root = Root(manager, caller, not_ok)
        variables = body.get("variables") or {}
        result = execute_sync(_SCHEMA, document, root, variable_values=variables)
    errors = [_error(manager, error) for error in result.errors or ()]
    if errors:
        return {"data": result.data, "errors": errors}
    # Newer managers say that there were none.
    return {"data": result.data} | ({"errors": None} if manager.release >= (26, 8) else {})


# A client sends the same few documents again and again.
@lru_cache(maxsize=256)
def _document(query: str) -> tuple[DocumentNode, tuple[GraphQLError, ...]]:
    """As it is parsed, and what is wrong with it. Raises RequestError."""
    try:
        document = parse(query)
    except GraphQLSyntaxError:
        raise problems.failed() from None
    return document, tuple(validate(_SCHEMA, document))


def _error(manager: Manager, error: GraphQLError) -> dict[str, Any]:
    formatted: dict[str, Any] = dict(error.formatted)
    if isinstance(error.original_error, problems.RequestError):
        formatted["message"] = error.original_error.text
    if manager.release < (26, 8):
        formatted.pop("extensions", None)
    return formatted
