"""A user, a token, and the headers that show them."""

import base64
from collections.abc import Callable
from typing import Any

import bcrypt

Serve = Callable[..., Any]
HASH = bcrypt.hashpw(b"correct horse", bcrypt.gensalt(4)).decode()
TOKEN = "0123456789abcdef0123456789abcdef"


def basic(user: str, password: str) -> dict[str, str]:
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


RIGHT = basic("prometheus", "correct horse")
