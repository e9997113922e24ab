"""A generic receiver of JSON, signed as Standard Webhooks describes (standardwebhooks.com)."""

import msgspec

from accelwatch.alert import Notice, Outcome, SinkContext
from accelwatch.delivery.post import Poster, PostError, failed, outcome_of
from accelwatch.plugin_options import check_url, checked
from accelwatch.standard_webhooks import headers, secret_bytes


class WebhookOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    url: str
    secret: str = ""
    """`whsec_` and base64; without one nothing is signed."""
    token: str = ""
    """Sent as `Authorization: Bearer`."""
    updates: bool = False
    """Whether each change of an incident is sent, not only its beginning, rise and end."""
    ca_file: str = ""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: the event's type, its time and the notice."""

    type: str
    timestamp: float
    data: Notice


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
            Body(type=f"incident.{notice.kind.value}", timestamp=notice.time, data=notice)
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
