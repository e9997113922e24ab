"""HMAC-SHA-256 without OpenSSL, which hashlib and hmac load: 1.5 MiB for one digest.

The interpreter's own SHA-256 is what hashlib has where OpenSSL is not; random uses it likewise.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

# B of RFC 2104 for SHA-256.
_BLOCK_BYTES = 64
# Python 3.12 and newer, 3.11, and where neither is.
_MODULES = (("_sha2", "sha256"), ("_sha256", "sha256"), ("hashlib", "sha256"))


def keyed_digest(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256 (RFC 2104) by a key of at most a block."""
    sha256 = _sha256()
    block = key.ljust(_BLOCK_BYTES, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    digest: bytes = sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
    return digest


def _sha256() -> Callable[[bytes], Any]:
    for module, name in _MODULES:
        try:
            constructor: Callable[[bytes], Any] = getattr(import_module(module), name)
        except ImportError:
            continue
        return constructor
    raise ImportError("no SHA-256")
