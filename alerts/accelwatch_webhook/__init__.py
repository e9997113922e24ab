"""A generic receiver of JSON, signed as Standard Webhooks describes (standardwebhooks.com).

The signature is over `id.timestamp.body` by HMAC-SHA256, in base64 behind `v1,`; a receiver checks it
with the library of its language.
"""

import base64
import binascii
import hashlib
import hmac

import msgspec

from accelwatch.alert import Notice, Outcome, SinkContext, check_url, options_of
from accelwatch.delivery.post import Poster, PostError, failed, outcome_of
from accelwatch.errors import ConfigError

PREFIX = "whsec_"
_LEAST_SECRET_BYTES = 24
"""Standard Webhooks: between 24 and 64 bytes of entropy."""


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
        options = options_of(context, WebhookOptions)
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
        headers = {"Content-Type": "application/json", "webhook-id": id_}
        timestamp = str(int(self._clock.wall()))
        headers["webhook-timestamp"] = timestamp
        if self._secret:
            headers["webhook-signature"] = signature(self._secret, id_, timestamp, body)
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            return outcome_of(await self._poster.post(self._url, body, headers), reference)
        except PostError as error:
            return failed(error, reference)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def secret_bytes(text: str) -> bytes:
    """The key of `whsec_...`. Raises ConfigError, which does not repeat it."""
    if not text.startswith(PREFIX):
        raise ConfigError(f"secret: expected {PREFIX} and base64")
    encoded = text.removeprefix(PREFIX)
    try:
        secret = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"secret: what follows {PREFIX} is no base64") from None
    if len(secret) < _LEAST_SECRET_BYTES:
        raise ConfigError(
            f"secret: {len(secret)} bytes are too few; make one with: "
            f'echo "{PREFIX}$(openssl rand -base64 32)"'
        )
    return secret


def signature(secret: bytes, id_: str, timestamp: str, body: bytes) -> str:
    """The value of the header `webhook-signature`."""
    digest = hmac.new(secret, f"{id_}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
