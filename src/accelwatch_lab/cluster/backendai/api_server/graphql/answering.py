"""POST /admin/gql: 200 whatever becomes of it, but for what cannot be read."""

from typing import Any

from graphql import GraphQLSyntaxError, graphql_sync, parse

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
    try:
        parse(body["query"])
    except GraphQLSyntaxError:
        raise problems.failed() from None
    result = graphql_sync(
        _SCHEMA,
        body["query"],
        Root(manager, caller, not_ok),
        variable_values=body.get("variables") or {},
    )
    errors: list[dict[str, Any]] = [dict(error.formatted) for error in result.errors or ()]
    for error, document in zip(result.errors or (), errors, strict=True):
        if isinstance(error.original_error, problems.RequestError):
            document["message"] = error.original_error.text
        if manager.release < (26, 8):
            document.pop("extensions", None)
    if errors:
        return {"data": result.data, "errors": errors}
    # Newer managers say that there were none.
    return {"data": result.data} | ({"errors": None} if manager.release >= (26, 8) else {})
