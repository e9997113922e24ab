"""Where the API server of a cluster is, and by which files we are known to it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch.api_client.urls import check_url
from accelwatch.base.errors import ConfigError

# Where a pod finds the token of its service account, and the cluster's authority.
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One API server; all empty within a cluster, where a pod's service account is used."""

    # Such as https://k8s.example:6443; empty for the cluster that this pod runs in.
    api_server: str = ""
    # File of a bearer token; read again when it changes.
    token_file: str = ""
    # File of the authorities by which the server is checked; empty for the system's.
    ca_file: str = ""
    # Our own certificate and its key.
    cert_file: str = ""
    key_file: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An API server that requests can be sent to; `base` has no slash at its end."""

    base: str
    token_file: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""


def server_of(
    options: ServerOptions, environ: Mapping[str, str], account: Path = ACCOUNT
) -> Server:
    """The server that options mean. Raises ConfigError, which does not repeat the URL."""
    token_file, ca_file = options.token_file, options.ca_file
    base = options.api_server
    if not base:
        base = within_cluster(environ)
        if not base:
            raise ConfigError("not within a cluster; name its API server with api_server")
        # A certificate of our own says who we are: no token is wanted beside it.
        token_file = token_file or ("" if options.cert_file else str(account / "token"))
        ca_file = ca_file or str(account / "ca.crt")
    if bool(options.cert_file) != bool(options.key_file):
        raise ConfigError("cert_file and key_file are both needed")
    check_url(
        "api_server",
        base,
        example="https://k8s.example:6443",
        credentials="token_file",
        secret="a token" if token_file else "",
    )
    return Server(
        base=base.rstrip("/"),
        token_file=token_file,
        ca_file=ca_file,
        cert_file=options.cert_file,
        key_file=options.key_file,
    )


def within_cluster(environ: Mapping[str, str]) -> str:
    """URL of the API server of the cluster that this pod runs in; empty outside of one."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
