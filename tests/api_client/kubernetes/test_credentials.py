"""Tokens that rotate, certificates that are renewed, and that no message repeats a secret."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from accelwatch.api_client.kubernetes import credentials
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, ApiUnavailableError
from accelwatch.api_client.kubernetes.server import Server
from support.servers.certificate_authority import Authority
from support.servers.scripted_api import ScriptedApi, answered, refused, scripted

NODE = "/api/v1/nodes/n1"


async def by_token(request: web.BaseRequest) -> web.StreamResponse:
    """Granted to `second` only; else 401, with the header that it got."""
    shown = request.headers.get("Authorization", "")
    if shown == "Bearer second":
        return web.json_response({})
    return web.json_response({"reason": "Unauthorized", "message": shown}, status=401)


@asynccontextmanager
async def with_token(token: Path) -> AsyncIterator[tuple[KubernetesClient, ScriptedApi]]:
    async with scripted(by_token) as api:
        client = KubernetesClient(Server(base=api.base, token_file=str(token)))
        try:
            yield client, api
        finally:
            await client.close()


def _replace(token: Path, text: str) -> None:
    """As the kubelet does it: another file in its place."""
    fresh = token.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(token)


def test_a_refused_token_is_read_again_once(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")

    async def main() -> None:
        async with with_token(token) as (client, api):
            with pytest.raises(ApiError) as raised:
                await client.patch(NODE, {})
            assert raised.value.status == 401
            assert len(api.received) == 1  # the file has not changed: no second attempt
            assert "first" not in str(raised.value) + raised.value.message
            _replace(token, "second")
            await client.patch(NODE, {})
            assert len(api.received) == 3

    asyncio.run(main())


def test_a_new_token_that_is_refused_too_is_an_error(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")

    async def main() -> None:
        async with with_token(token) as (client, api):
            with pytest.raises(ApiError):
                await client.get(NODE)
            _replace(token, "third")
            with pytest.raises(ApiError) as raised:
                await client.get(NODE)
            assert raised.value.status == 401
            assert len(api.received) == 3

    asyncio.run(main())


def test_a_new_token_is_seen_without_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_CHECK_EVERY_S", 0.0)
    token = tmp_path / "token"
    token.write_text("second")

    async def main() -> None:
        async with with_token(token) as (client, api):
            await client.get(NODE)
            _replace(token, "third")
            with pytest.raises(ApiError):
                await client.get(NODE)
            sent = [request.headers["Authorization"] for request in api.received]
            assert sent == ["Bearer second", "Bearer third"]

    asyncio.run(main())


@pytest.mark.parametrize("text", [None, "", "two\nlines", "caf\u00e9"])
def test_a_token_that_cannot_be_used_is_not_sent(tmp_path: Path, text: str | None) -> None:
    token = tmp_path / "token"
    if text is not None:
        token.write_text(text)

    async def main() -> None:
        async with with_token(token) as (client, api):
            with pytest.raises(ApiUnavailableError) as raised:
                await client.patch(NODE, {})
            assert not raised.value.sent
            assert str(token) in str(raised.value)
            assert not api.received

    asyncio.run(main())


def test_a_token_that_is_taken_away_is_reported_after_a_refusal(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")

    async def main() -> None:
        async with with_token(token) as (client, _):
            with pytest.raises(ApiError):
                await client.get(NODE)
            token.unlink()
            with pytest.raises(ApiUnavailableError, match="cannot be read"):
                await client.get(NODE)

    asyncio.run(main())


def _server_context(authority: Authority, *, requests_certificate: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("kubernetes"))
    if requests_certificate:
        context.load_verify_locations(authority.file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_server_is_checked_by_the_authority_of_the_file(
    authority: Authority, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = Authority(folder, "another authority")

    async def main() -> None:
        async with scripted(answered(200), tls=_server_context(authority)) as api:
            ours = KubernetesClient(Server(base=api.base, ca_file=str(authority.file)))
            await ours.get(NODE)
            theirs = KubernetesClient(Server(base=api.base, ca_file=str(other.file)))
            with pytest.raises(ApiUnavailableError, match="TLS failed") as raised:
                await theirs.patch(NODE, {})
            assert not raised.value.sent
            # The authority is replaced in its file.
            theirs_file = str(other.file)
            _replace(other.file, authority.file.read_text())
            renewed = KubernetesClient(Server(base=api.base, ca_file=theirs_file))
            await renewed.get(NODE)
            for client in (ours, theirs, renewed):
                await client.close()

    asyncio.run(main())


def test_an_authority_that_is_renewed_is_read_again(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_CHECK_EVERY_S", 0.0)
    folder = tmp_path / "other"
    folder.mkdir()
    other = Authority(folder, "another authority")

    async def main() -> None:
        async with scripted(answered(200), tls=_server_context(authority)) as api:
            client = KubernetesClient(Server(base=api.base, ca_file=str(other.file)))
            with pytest.raises(ApiUnavailableError, match="TLS failed"):
                await client.get(NODE)
            _replace(other.file, authority.file.read_text())
            await client.get(NODE)
            await client.close()

    asyncio.run(main())


def test_our_own_certificate_is_shown(authority: Authority) -> None:
    certificate, key = map(str, authority.issue("accelwatch"))

    async def main() -> None:
        async with scripted(
            answered(200), tls=_server_context(authority, requests_certificate=True)
        ) as api:
            named = Server(base=api.base, ca_file=str(authority.file))
            nobody = KubernetesClient(named)
            with pytest.raises(ApiUnavailableError):
                await nobody.get(NODE)
            somebody = KubernetesClient(
                Server(
                    base=api.base, ca_file=str(authority.file), cert_file=certificate, key_file=key
                )
            )
            await somebody.get(NODE)
            await nobody.close()
            await somebody.close()

    asyncio.run(main())


@pytest.mark.parametrize("broken", ["ca_file", "cert_file"])
def test_a_file_that_is_no_certificate_is_named(
    authority: Authority, tmp_path: Path, broken: str
) -> None:
    certificate, key = map(str, authority.issue("accelwatch"))
    files = {"ca_file": str(authority.file), "cert_file": certificate, "key_file": key}
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("no certificate")

    async def main() -> None:
        server = Server(**{"base": "https://127.0.0.1:9", **files, broken: str(nonsense)})
        client = KubernetesClient(server)
        with pytest.raises(ApiUnavailableError, match=broken) as raised:
            await client.patch(NODE, {})
        assert not raised.value.sent
        await client.close()

    asyncio.run(main())


def test_a_ticket_does_not_show_its_token() -> None:
    assert "hunter2" not in repr(credentials.Ticket("hunter2", None))


def test_a_new_token_goes_on_the_connections_that_are_open(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_CHECK_EVERY_S", 0.0)
    token = tmp_path / "token"
    token.write_text("one")

    async def main() -> None:
        kept = credentials.Credentials(
            Server(base="https://h", token_file=str(token), ca_file=str(authority.file))
        )
        first = await kept.ticket()
        assert await kept.ticket() is first
        _replace(token, "two")
        second = await kept.ticket()
        assert (second.token, second.tls is first.tls) == ("two", True)

    asyncio.run(main())


def test_the_server_s_words_are_kept_but_for_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("hunter2")

    async def main() -> None:
        async with scripted(refused(403, "Forbidden", "hunter2 may not")) as api:
            client = KubernetesClient(Server(base=api.base, token_file=str(token)))
            with pytest.raises(ApiError) as raised:
                await client.get(NODE)
            assert raised.value.message == "(token) may not"
            await client.close()

    asyncio.run(main())
