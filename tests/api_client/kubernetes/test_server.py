"""Where the API server is, by options and by what a pod is given."""

from pathlib import Path

import pytest

from accelwatch.api_client.kubernetes.server import ACCOUNT, Server, ServerOptions, server_of
from accelwatch.base.errors import ConfigError

INSIDE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_uses_its_service_account() -> None:
    assert server_of(ServerOptions(), INSIDE) == Server(
        base="https://10.0.0.1:443",
        token_file=str(ACCOUNT / "token"),
        ca_file=str(ACCOUNT / "ca.crt"),
    )
    six = {**INSIDE, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert server_of(ServerOptions(), six).base == "https://[fd00::1]:443"


def test_files_that_are_configured_come_before_those_of_the_account() -> None:
    options = ServerOptions(token_file="/t", ca_file="/ca")
    server = server_of(options, INSIDE, Path("/account"))
    assert (server.token_file, server.ca_file) == ("/t", "/ca")
    own = ServerOptions(cert_file="/c", key_file="/k")
    server = server_of(own, INSIDE, Path("/account"))
    assert (server.token_file, server.ca_file) == ("", "/account/ca.crt")


def test_a_server_that_is_named_gets_only_what_is_configured() -> None:
    options = ServerOptions(api_server="https://k8s.example:6443/clusters/c1/")
    assert server_of(options, INSIDE) == Server(base="https://k8s.example:6443/clusters/c1")


@pytest.mark.parametrize("missing", list(INSIDE))
def test_outside_a_cluster_the_server_has_to_be_named(missing: str) -> None:
    with pytest.raises(ConfigError, match="api_server"):
        server_of(ServerOptions(), {key: INSIDE[key] for key in INSIDE if key != missing})


@pytest.mark.parametrize(
    "url",
    [
        "k8s.example:6443",
        "ftp://k8s.example",
        "https://",
        "https://k8s.example:port",
        "https://k8s.example:0",
        "https://u:hunter2@k8s.example",
        "https://hunter2@k8s.example",
        "https://k8s.example?key=hunter2",
        "https://k8s.example#hunter2",
    ],
)
def test_a_url_of_no_use_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="api_server") as error:
        server_of(ServerOptions(api_server=url), {})
    assert "hunter2" not in str(error.value)


def test_a_token_goes_over_http_to_this_machine_only() -> None:
    for host in ("127.0.0.1:8001", "localhost:8001", "[::1]:8001"):
        server_of(ServerOptions(api_server=f"http://{host}", token_file="/t"), {})
    server_of(ServerOptions(api_server="http://k8s.example"), {})
    with pytest.raises(ConfigError, match="https"):
        server_of(ServerOptions(api_server="http://k8s.example", token_file="/t"), {})


@pytest.mark.parametrize("name", ["cert_file", "key_file"])
def test_a_certificate_needs_its_key(name: str) -> None:
    options = ServerOptions(**{"api_server": "https://k8s.example", name: "/f"})
    with pytest.raises(ConfigError, match="both needed"):
        server_of(options, {})
