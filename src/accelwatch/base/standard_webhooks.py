"""Signatures of requests as Standard Webhooks describes them (standardwebhooks.com).

The signature is over `id.timestamp.body` by HMAC-SHA256, in base64 behind `v1,`; a receiver checks it
with the library of its language. A request that is sent again keeps its id and gets a new timestamp.
"""

import base64
import binascii
import hashlib
import hmac

from accelwatch.base.errors import ConfigError

PREFIX = "whsec_"
# Standard Webhooks: between 24 and 64 bytes of entropy.
_LEAST_SECRET_BYTES = 24


def secret_bytes(text: str) -> bytes:
    """The key of `whsec_...`. Raises ConfigError, which does not repeat it."""
    if not text.startswith(PREFIX):
        raise ConfigError(f"secret: expected {PREFIX} and base64")
    encoded = text.removeprefix(PREFIX)
    try:
        secret = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"secret: the part after {PREFIX} is not base64") from None
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


def headers(secret: bytes, id_: str, now: float, body: bytes) -> dict[str, str]:
    """The headers of a request of JSON, signed unless the secret is empty; `now` is Unix seconds."""
    timestamp = str(int(now))
    named = {
        "Content-Type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": timestamp,
    }
    if secret:
        named["webhook-signature"] = signature(secret, id_, timestamp, body)
    return named
