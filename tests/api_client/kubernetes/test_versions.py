"""Which versions of a group are served, and which have a resource."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, ApiUnavailableError
from accelwatch.api_client.kubernetes.server import Server
from accelwatch.api_client.kubernetes.versions import ServedVersions
from accelwatch.base.clock import ManualClock
from support.servers.scripted_api import ScriptedApi, raw, refused, scripted

GROUP = "resource.k8s.io"


def serving(versions: dict[str, list[str]]) -> Any:
    """A server with these resources by version."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == f"/apis/{GROUP}" and versions:
            listed = [{"groupVersion": f"{GROUP}/{name}", "version": name} for name in versions]
            return web.json_response({"versions": listed})
        names = versions.get(request.path.rpartition("/")[2])
        if names is None:
            return web.json_response({"reason": "NotFound"}, status=404)
        return web.json_response({"resources": [{"name": name} for name in names] or None})

    return answer


async def _client(api: ScriptedApi) -> KubernetesClient:
    return KubernetesClient(Server(base=api.base))


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"v1": ["resourceclaims", "devicetaintrules"]}, "v1"),
        ({"v1": ["resourceclaims"], "v1beta2": ["devicetaintrules"]}, "v1beta2"),
        ({"v1": []}, ""),
        ({}, ""),
    ],
)
def test_the_first_version_that_has_the_resource(
    versions: dict[str, list[str]], expected: str
) -> None:
    async def main() -> None:
        async with scripted(serving(versions)) as api:
            client = await _client(api)
            served = ServedVersions(client)
            assert await served.serving(GROUP, "devicetaintrules") == expected
            requests = len(api.received)
            assert await served.serving(GROUP, "devicetaintrules") == expected
            assert len(api.received) == requests
            await client.close()

    asyncio.run(main())


def test_what_was_read_is_read_again_after_a_while_and_when_it_is_doubted() -> None:
    async def main() -> None:
        versions = {"v1": ["devicetaintrules"]}
        async with scripted(serving(versions)) as api:
            client, clock = await _client(api), ManualClock()
            served = ServedVersions(client, clock)
            assert await served.of_group(GROUP) == ("v1",)
            versions["v2"] = []
            assert await served.of_group(GROUP) == ("v1",)
            clock.advance(301.0)
            assert await served.of_group(GROUP) == ("v1", "v2")
            del versions["v1"]
            served.forget()
            assert await served.of_group(GROUP) == ("v2",)
            await client.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused(403, "Forbidden", "no"), ApiError),
        (raw(200, b"<html>"), ApiUnavailableError),
        (refused(503, "ServiceUnavailable", "no"), ApiUnavailableError),
    ],
)
def test_what_cannot_be_read_is_not_nothing(answer: Any, error: type[Exception]) -> None:
    async def main() -> None:
        async with scripted(answer) as api:
            client = await _client(api)
            with pytest.raises(error):
                await ServedVersions(client).of_group(GROUP)
            await client.close()

    asyncio.run(main())
