"""Targets that refuse, redirect, or cannot be trusted: the row says which, and nothing is given away."""

import asyncio
import base64
import email.utils
import socket
import ssl
import time
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, Scrape, TlsConfig
from fleet.misbehaving_targets.misbehaving import (
    Behaviour,
    Exchange,
    Misbehaving,
    always,
    answer,
    hang,
    misbehaving,
    passed_on,
)
from fleet.misbehaving_targets.short_waits import FAST, START, simulation, ward
from support.servers.certificate_authority import Authority


def _server(pair: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


def _secure(ca: Path) -> Scrape:
    return msgspec.structs.replace(FAST, timeout_s=2.0, tls_config=TlsConfig(ca_file=str(ca)))


@pytest.mark.parametrize(
    ("flaw", "words"),
    [
        ("expired", "expired"),
        ("name", "not valid for '127.0.0.1'"),
        ("authority", "issuer"),
        ("plain", "does not speak TLS"),
    ],
)
def test_a_target_that_cannot_be_trusted_is_not_read(tmp_path: Path, flaw: str, words: str) -> None:
    (tmp_path / "other").mkdir()
    known, unknown = Authority(tmp_path), Authority(tmp_path / "other", "another authority")
    good = known.issue("good")
    pair = {
        "expired": known.issue("expired", ended_days=1),
        "name": known.issue("name", "n7.cluster", loopback=False),
        "authority": unknown.issue("bad"),
        "plain": good,
    }[flaw]

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated:
            context = _server(pair)
            behaviour = passed_on(simulated, simulated.names[3])
            first = None if flaw == "plain" else context
            async with misbehaving(behaviour, first) as bad:
                target = f"https://{bad.address}"
                async with ward(simulated, clock, target, scrape=_secure(known.file)) as running:
                    row = await running.fails(bad.address, "tls", words)
                    assert row["state"] == "never"
                    assert bad.requests == []
                    await running.all_well()
                    if flaw == "plain":
                        port = int(bad.address.rpartition(":")[2])
                        await bad.stop()
                        bad.tls = context
                        await bad.start(port)
                    else:
                        context.load_cert_chain(*good)
                    await running.mended(bad.address)

    asyncio.run(main())


def test_a_target_that_speaks_tls_where_none_is_expected(tmp_path: Path) -> None:
    pair = Authority(tmp_path).issue("good")

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(hang, _server(pair)) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.reason(bad.address) in ("garbage", "closed"))
            row = await running.get(f"/v1/nodes/{bad.address}")
            assert "TLS" in row["targets"][0]["fault"]["message"]
            await running.all_well()

    asyncio.run(main())


def test_a_handshake_that_is_never_done(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        clock = ManualClock(wall=START)
        with socket.create_server(("127.0.0.1", 0)) as never_accepts:
            address = f"127.0.0.1:{never_accepts.getsockname()[1]}"
            scrape = msgspec.structs.replace(_secure(authority.file), timeout_s=0.5)
            async with (
                simulation(clock, 4) as simulated,
                ward(simulated, clock, f"https://{address}", scrape=scrape) as running,
            ):
                await running.fails(address, "timeout", "no answer in time")
                await running.all_well()

    asyncio.run(main())


def _admitting(allowed: str, behaviour: Behaviour) -> Behaviour:
    """Lets in who sends this Authorization."""

    async def behave(exchange: Exchange) -> None:
        if f"\r\nAuthorization: {allowed}\r\n".encode() in exchange.head:
            await behaviour(exchange)
        else:
            await exchange.send(answer("401 Unauthorized\r\nWWW-Authenticate: Basic"))

    return behave


def test_a_password_that_is_mended_in_its_file_is_used_at_once(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old-word\n")
    basic = BasicAuth(username="hub", password_file=str(file))
    scrape = msgspec.structs.replace(FAST, basic_auth=basic)
    new = f"Basic {base64.b64encode(b'hub:new-word').decode()}"

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated:
            behaviour = _admitting(new, passed_on(simulated, simulated.names[3]))
            async with (
                misbehaving(behaviour) as bad,
                ward(simulated, clock, bad.address, scrape=scrape) as running,
            ):
                await running.fails(bad.address, "credentials", "401", "credentials")
                await running.all_well()
                file.write_text("")  # as a file is for a moment that is written in place
                await running.until(lambda: str(file) in str(running.source(bad.address).fault))
                await running.all_well()
                file.write_text("new-word\n")
                await running.mended(bad.address)
                assert not any(b"new-word" in head for head in bad.heads)

    asyncio.run(main())


def test_a_token_file_that_is_not_there_yet(tmp_path: Path) -> None:
    file = tmp_path / "token"
    scrape = msgspec.structs.replace(FAST, authorization=Authorization(credentials_file=str(file)))

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated:
            behaviour = _admitting("Bearer a-word", passed_on(simulated, simulated.names[3]))
            async with (
                misbehaving(behaviour) as bad,
                ward(simulated, clock, bad.address, scrape=scrape, healthy=0) as running,
            ):
                await running.fails(bad.address, "credentials", str(file), "No such file")
                assert bad.requests == []
                file.write_text("a-word\n")
                await running.mended(bad.address)

    asyncio.run(main())


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_target_that_requests_a_pause_is_left_alone(status: str, form: str) -> None:
    until = "3600" if form == "seconds" else email.utils.formatdate(time.time() + 3600, usegmt=True)
    busy = always(answer(f"{status}\r\nRetry-After: {until}"))

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(busy) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.fails(bad.address, "busy", status[:3], "wait")
            requested = list(bad.requests)
            for _ in range(20):
                await running.beat(5)
                await asyncio.sleep(0.02)
            assert bad.requests == requested
            await running.all_well()

    asyncio.run(main())


@pytest.mark.parametrize("form", ["1", "date", "soon", "-5", "0"])
def test_a_target_that_requested_a_pause_is_read_again(form: str) -> None:
    async def busy(exchange: Exchange) -> None:
        until = email.utils.formatdate(time.time(), usegmt=True) if form == "date" else form
        await exchange.send(answer(f"429 Slow\r\nRetry-After: {until}"))

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(busy) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.fails(bad.address, "busy", "429")
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)
            await running.all_well()

    asyncio.run(main())


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(tmp_path: Path, code: int) -> None:
    """Not even to another path of the target, and never with its credentials."""
    token = tmp_path / "token"
    token.write_text("a-word")
    scrape = msgspec.structs.replace(FAST, authorization=Authorization(credentials_file=str(token)))

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated, misbehaving(hang) as elsewhere:
            location = f"{code} Go\r\nLocation: http://{elsewhere.address}/v1/stream"
            async with (
                misbehaving(always(answer(location))) as bad,
                ward(simulated, clock, bad.address, scrape=scrape) as running,
            ):
                await running.fails(bad.address, "redirect", str(code), "not followed")
                bad.behaviour = always(answer(f"{code} Go\r\nLocation: /elsewhere"))
                before = len(bad.requests)
                await running.until(lambda: len(bad.requests) > before + 1)
                assert set(bad.requests) == {"/v1/stream"}
                assert elsewhere.requests == []
                await running.all_well()
                await bad.mend(simulated, simulated.names[3])
                await running.mended(bad.address)

    asyncio.run(main())


def test_https_is_never_left_for_http(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated, misbehaving(hang) as plain:
            location = f"302 Go\r\nLocation: http://{plain.address}/v1/stream"
            context = _server(authority.issue("good"))
            async with (
                misbehaving(always(answer(location)), context) as bad,
                ward(
                    simulated, clock, f"https://{bad.address}", scrape=_secure(authority.file)
                ) as running,
            ):
                await running.fails(bad.address, "redirect")
                assert plain.requests == []
                await bad.mend(simulated, simulated.names[3])
                await running.mended(bad.address)

    asyncio.run(main())


def test_nobody_listens_until_somebody_does() -> None:
    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 4) as simulated:
            bad = Misbehaving(passed_on(simulated, simulated.names[3]), None)
            await bad.start()
            address, port = bad.address, int(bad.address.rpartition(":")[2])
            await bad.stop()
            async with ward(simulated, clock, address) as running:
                await running.fails(address, "connect", "cannot connect", "refused")
                await running.all_well()
                await bad.start(port)
                await running.mended(address)
            await bad.stop()

    asyncio.run(main())
