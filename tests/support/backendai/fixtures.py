"""Fixtures of tests that request a manager."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.server import ServerOptions, server_of
from support.backendai.signed_api import ACCESS_KEY, SECRET_KEY, signed
from support.servers.scripted_api import Answering, ScriptedApi


@pytest.fixture
def secret_key_file(tmp_path: Path) -> Path:
    """The file of the key that a signed API accepts."""
    file = tmp_path / "secret"
    file.write_text(SECRET_KEY + "\n")
    file.chmod(0o600)
    return file


@asynccontextmanager
async def connected(
    secret_key_file: Path, *answers: Answering, **changed: Any
) -> AsyncIterator[tuple[BackendAiClient, ScriptedApi]]:
    """A client of an API that answers by a script, and checks signatures."""
    async with signed(*answers) as api:
        options = {
            "url": api.base,
            "access_key": ACCESS_KEY,
            "secret_key_file": str(secret_key_file),
        }
        client = BackendAiClient(server_of(msgspec.convert({**options, **changed}, ServerOptions)))
        try:
            yield client, api
        finally:
            await client.close()
