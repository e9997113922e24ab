"""A generic receiver of JSON, signed as Standard Webhooks describes (standardwebhooks.com)."""

from typing import Any

import msgspec

from accelwatch.alerting.delivery.transport.post import Poster, PostError, failed, outcome_of
from accelwatch.alerting.sink import Notice, Outcome, SinkContext
from accelwatch.base.standard_webhooks import headers, secret_bytes
from accelwatch.plugins.options import check_url, checked
from accelwatch.schema.timestamps import timestamp, timestamp_or_none

# The greater number is for what a receiver of the smaller one would misread.
SCHEMA = "accelwatch.webhook/2"


class WebhookOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    url: str
    # `whsec_` and base64; without one nothing is signed.
    secret: str = ""
    # Sent as `Authorization: Bearer`.
    token: str = ""
    # Whether each change of an incident is sent, not only its beginning, rise and end.
    updates: bool = False
    ca_file: str = ""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: the type, time and data that Standard Webhooks requires, and their schema."""

    schema: str
    type: str
    # RFC 3339, as every moment of `data`.
    timestamp: str
    data: dict[str, Any]


_TIMESTAMPS = frozenset({"since", "time", "closed", "at", "until", "as_of"})


def with_timestamps(struct: msgspec.Struct) -> dict[str, Any]:
    """A notice, or a plan of it, as an object in which every moment is RFC 3339 in UTC."""
    return {name: _plain(name, value) for name, value in msgspec.structs.asdict(struct).items()}


def _plain(name: str, value: Any) -> Any:
    if name in _TIMESTAMPS:
        return timestamp_or_none(value)
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        return [with_timestamps(nested) for nested in value]
    return value


class WebhookSink:
    """Posts each notice; `webhook-id` is the same when a notice is sent again."""

    pace_s = 0.0
    repeat_s = None

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, WebhookOptions)
        self._url = check_url(options.url)
        self._secret = secret_bytes(options.secret) if options.secret else b""
        self._token = options.token
        self.edits = options.updates
        self._clock = context.clock
        self._poster = Poster(context.timeout_s, options.ca_file)

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice."""
        body = msgspec.json.encode(
            Body(
                schema=SCHEMA,
                type=f"incident.{notice.kind.value}",
                timestamp=timestamp(notice.time),
                data=with_timestamps(notice),
            )
        )
        id_ = f"{notice.key}.{notice.sequence}".replace("/", ".")
        named = headers(self._secret, id_, self._clock.wall(), body)
        if self._token:
            named["Authorization"] = f"Bearer {self._token}"
        try:
            return outcome_of(await self._poster.post(self._url, body, named), reference)
        except PostError as error:
            return failed(error, reference)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()
