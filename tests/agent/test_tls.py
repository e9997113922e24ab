"""TLS: with passwords, its versions, and certificates of clients."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from accelwatch.web.protection.authentication import Verdict, authenticate
from accelwatch.web.protection.passwords import PasswordChecker
from accelwatch.web.protection.web_config import Protection, load_protection
from agent.credentials import HASH, RIGHT, Serve
from support.servers.agent_processes import AgentProcess


def test_names_in_a_certificate_are_judged() -> None:
    protection = Protection(allowed_sans=frozenset({"prometheus.example.org"}))
    right = {"subjectAltName": (("DNS", "prometheus.example.org"),)}
    wrong = {"subjectAltName": (("DNS", "other.example.org"),)}

    async def verdict(certificate: object) -> Verdict:
        return (await authenticate(protection, PasswordChecker(), "", certificate)).verdict

    assert asyncio.run(verdict(right)) is Verdict.ADMIT
    assert asyncio.run(verdict(wrong)) is Verdict.FORBID


def test_tls_with_password(serve: Serve, authority: Any, tls: Callable[..., Path]) -> None:
    path = tls(
        f"basic_auth_users: {{prometheus: {HASH}}}",
        "http_server_config:",
        "  headers: {Strict-Transport-Security: max-age=9, X-Frame-Options: SAMEORIGIN}",
    )
    served = serve(load_protection(path))
    answer = served.get(headers=RIGHT, tls=authority.client())
    assert answer.status == 200
    assert answer.headers["Strict-Transport-Security"] == "max-age=9"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert served.get(tls=authority.client()).status == 401
    with pytest.raises((ConnectionError, OSError)):
        served.get(headers=RIGHT)


def test_an_agent_that_started_without_tls_loads_it_when_it_is_configured(
    authority: Any, tls: Callable[..., Path], tmp_path: Path
) -> None:
    """ssl is loaded by its first use, after asyncio was imported without it."""
    web = tls(f"basic_auth_users: {{prometheus: {HASH}}}")
    encrypted = web.read_text()
    web.write_text(f"basic_auth_users: {{prometheus: {HASH}}}\n")
    agent = AgentProcess(tmp_path, "log: {level: info}", {}, web_config=str(web))
    try:
        agent.wait_for(lambda: bool(agent.address))
        web.write_text(encrypted)

        def answers() -> bool:
            host, _, port = agent.address.partition(":")
            client = HTTPSConnection(host, int(port), context=authority.client(), timeout=60)
            with contextlib.suppress(OSError), contextlib.closing(client):
                client.request("GET", "/-/healthy", headers=RIGHT)
                return client.getresponse().status == 200
            return False

        agent.wait_for(answers)
    finally:
        agent.kill()


def test_old_tls_is_refused(serve: Serve, authority: Any, tls: Callable[..., Path]) -> None:
    served = serve(load_protection(tls("  min_version: TLS13")))
    old = authority.client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        served.get(tls=old)
    assert served.get(tls=authority.client()).status == 200


def test_client_certificates(
    serve: Serve, authority: Any, tls: Callable[..., Path], tmp_path_factory: Any
) -> None:
    path = tls(
        "  client_auth_type: RequireAndVerifyClientCert",
        "  client_ca_file: ca.crt",
        "  client_allowed_sans: [prometheus.example.org]",
    )
    protection = load_protection(path)
    assert protection.authenticates
    served = serve(protection)
    admitted = authority.client(authority.issue("prometheus", "prometheus.example.org"))
    other = authority.client(authority.issue("other", "other.example.org"))
    stranger = type(authority)(tmp_path_factory.mktemp("stranger"))
    forged = authority.client(stranger.issue("prometheus", "prometheus.example.org"))
    assert served.get(tls=admitted).status == 200
    assert served.get(tls=other).status == 403
    for client in (authority.client(), forged):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            served.get(tls=client)
    assert served.get(tls=admitted).status == 200


def test_without_a_certificate_its_names_are_not_judged_but_the_rest_is() -> None:
    """Whether one must be shown is `client_auth_type`'s to say, in the handshake."""
    sans = frozenset({"prometheus.example.org"})

    async def verdict(protection: Protection) -> Verdict:
        return (await authenticate(protection, PasswordChecker(), "", None)).verdict

    assert asyncio.run(verdict(Protection(allowed_sans=sans))) is Verdict.ADMIT
    required = Protection(allowed_sans=sans, tokens=("t" * 32,))
    assert asyncio.run(verdict(required)) is Verdict.CHALLENGE
