"""What commands about remedies end with: done, refused, not known, or a person's yes is missing."""

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import FAILED, NEEDS_APPROVAL, OK, UNKNOWN, USAGE
from accelwatch.cli.hub_requests import HubOnlyFlags, changed, fetch_page
from accelwatch.fleet.documents.remedies import Commanded
from accelwatch.fleet.picture.remedies import CommandOutcome, outcome_of

_CODES: Mapping[CommandOutcome, int] = MappingProxyType(
    {
        CommandOutcome.DONE: OK,
        CommandOutcome.REFUSED: FAILED,
        CommandOutcome.UNKNOWN: UNKNOWN,
        CommandOutcome.NEEDS_APPROVAL: NEEDS_APPROVAL,
    }
)
_KEPT = frozenset({FAILED, USAGE, UNKNOWN})


def code_of(verb: str, reply: Commanded) -> int:
    """The exit code of the hub's answer to a person's command."""
    notes = (note.text for note in reply.notes)
    return _CODES[outcome_of(verb, notes, reply.remedy.stage if reply.remedy else "")]


def fetch_remedies(hub: HubOnlyFlags, path: str, query: Mapping[str, str]) -> bytes:
    """A page of a hub about its remedies. Raises AccelwatchError."""
    with _refusals():
        return fetch_page(hub, path, query)


def post_command(hub: HubOnlyFlags, path: str, document: Mapping[str, Any]) -> bytes:
    """The answer to a person's command. Raises AccelwatchError, UncertainError."""
    with _refusals():
        return changed(hub, "POST", path, document=document)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """A node that is not there, or a role that is missing, is a refusal like any other."""
    try:
        yield
    except AccelwatchError as error:
        if error.exit_code in _KEPT:
            raise
        raise AccelwatchError(str(error)) from error
