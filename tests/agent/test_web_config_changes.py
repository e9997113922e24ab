"""A web configuration that changes while the server runs."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelwatch.agent.watch import Watch
from accelwatch.agent.web_config import Protection, load_protection
from agent.credentials import HASH, RIGHT, TOKEN, Serve, basic, bearer
from waiting import wait_until


def test_changes_are_taken_without_dropping_connections(
    serve: Serve, authority: Any, tls: Callable[..., Path]
) -> None:
    import http.client

    path = tls(f"basic_auth_users: {{prometheus: {HASH}}}")
    served = serve(load_protection(path))
    outcomes: list[bool] = []

    async def watch() -> Watch:
        def apply(found: Protection) -> None:
            served.server.protection = found

        return Watch(
            path,
            served.server.protection,
            apply=apply,
            outcome=outcomes.append,
            every_s=0.02,
        )

    watcher = served.run(watch())
    watcher.start()
    before = http.client.HTTPSConnection(
        "127.0.0.1", served.port, context=authority.client(), timeout=10
    )
    before.request("GET", "/metrics", headers=RIGHT)
    assert before.getresponse().read()
    first = before.sock.getpeercert(binary_form=True)

    authority.issue("server")  # certificate and key are two writes: one look may fall between them
    wait_until(lambda: _certificate(served, authority) != first)
    path.write_text(path.read_text().replace("prometheus:", "another:"))
    wait_until(lambda: served.get(headers=RIGHT, tls=authority.client()).status == 401)
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    before.request("GET", "/metrics", headers=basic("another", "correct horse"))
    assert before.getresponse().status == 200
    before.close()

    path.write_text("tls_server_config: {cert: x}")
    wait_until(lambda: outcomes[-1:] == [False])
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    # A file that is named before it is there is waited for.
    path.write_text("bearer_token_file: token")
    (path.parent / "token").write_text(TOKEN)
    wait_until(lambda: outcomes[-1:] == [True])
    assert served.get(headers=bearer(TOKEN)).status == 200
    served.run(_stop(watcher))


async def _stop(watcher: Watch) -> None:
    watcher.stop()


def _certificate(served: Any, authority: Any) -> bytes | None:
    with served.connect() as raw:
        try:
            with authority.client().wrap_socket(raw, server_hostname="127.0.0.1") as secured:
                certificate: bytes | None = secured.getpeercert(binary_form=True)
                return certificate
        except (ssl.SSLError, ConnectionError):
            return None
