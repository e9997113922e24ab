"""Who uses the devices, as a hub or an agent has counted it."""

from collections.abc import Mapping

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import Requests
from accelwatch.node.usage.queries import NOT_COUNTED, PATH
from accelwatch.node.usage.report import UsageReport

_decode = msgspec.json.Decoder(UsageReport).decode


async def usage_of(session: Requests, by: str, since: str) -> UsageReport:
    """The report, for a dashboard. Raises AccelwatchError when it cannot be had."""
    try:
        return await read_usage(session, {"by": by, "since": since})
    except TargetFault as fault:
        raise AccelwatchError(f"no usage data: {first_line(fault)}") from fault


async def read_usage(session: Requests, parameters: Mapping[str, str]) -> UsageReport:
    """The report; `parameters` has `by` and `since`. Raises TargetFault, UnmetError where none is
    kept.
    """
    try:
        return _decode(await session.document(PATH, parameters))
    except TargetFault as fault:
        if str(fault) == NOT_COUNTED:
            raise UnmetError(f"{session.endpoint.name}: {fault}") from fault
        raise
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"no report of usage: {error}") from error
