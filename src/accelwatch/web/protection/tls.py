"""TLS settings in Go's words, as exporter-toolkit writes them, and the context they make.

Types of ssl stand in quotes here and where a context is handed on: it is loaded when one is made.
"""

import ssl
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accelwatch.base.errors import ConfigError
from accelwatch.base.names.nearest import nearest

FilePath = Annotated[str, Meta(extra={"form": "path"})]
Version = Literal["TLS10", "TLS11", "TLS12", "TLS13"]

# Go's words to the names of `ssl.TLSVersion`.
VERSIONS = {"TLS12": "TLSv1_2", "TLS13": "TLSv1_3"}
# Go's names (crypto/tls CipherSuites) to OpenSSL's; TLS 1.3 has its own suites, always on.
_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
_ALWAYS = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The section `tls_server_config`."""

    cert_file: FilePath | None = None
    key_file: FilePath | None = None
    client_auth_type: Literal[
        "NoClientCert",
        "RequestClientCert",
        "RequireAnyClientCert",
        "VerifyClientCertIfGiven",
        "RequireAndVerifyClientCert",
    ] = "NoClientCert"
    client_ca_file: FilePath | None = None
    client_allowed_sans: frozenset[str] = frozenset()
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: tuple[str, ...] = ()
    prefer_server_cipher_suites: bool = True


def server_context(tls: TlsSettings) -> "ssl.SSLContext":
    """The context. Raises ConfigError that says what is missing or does not fit together."""
    if not tls.cert_file or not tls.key_file:
        raise ConfigError("cert_file and key_file are both needed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _version("min_version", tls.min_version)
    context.maximum_version = _version("max_version", tls.max_version)
    if context.minimum_version > context.maximum_version:
        raise ConfigError("min_version is above max_version")
    if not tls.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    _set_suites(context, tls.cipher_suites)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"{tls.cert_file} and {tls.key_file} do not load: {error}") from error
    _request_certificates(context, tls)
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")


def _version(key: str, version: str) -> "ssl.TLSVersion":
    if version not in VERSIONS:
        raise ConfigError(f"{key}: {version} is not offered any more; expected TLS12 or TLS13")
    return ssl.TLSVersion[VERSIONS[version]]


def _set_suites(context: "ssl.SSLContext", names: tuple[str, ...]) -> None:
    ciphers = []
    for name in names:
        if name in _ALWAYS:
            continue
        if name not in _SUITES:
            close = nearest(name, list(_SUITES))
            hint = f"did you mean {close}?" if close else f"expected of {', '.join(_SUITES)}"
            raise ConfigError(f"cipher_suites: {name} is not offered; {hint}")
        ciphers.append(_SUITES[name])
    context.set_ciphers(":".join(ciphers or _SUITES.values()))


def _request_certificates(context: "ssl.SSLContext", tls: TlsSettings) -> None:
    if tls.client_auth_type in ("RequestClientCert", "RequireAnyClientCert"):
        raise ConfigError(
            f"client_auth_type: {tls.client_auth_type} verifies nothing and is not supported; "
            "expected VerifyClientCertIfGiven or RequireAndVerifyClientCert"
        )
    requests_certificate = tls.client_auth_type != "NoClientCert"
    if requests_certificate and not tls.client_ca_file:
        raise ConfigError(f"client_auth_type {tls.client_auth_type} needs client_ca_file")
    if not requests_certificate and (tls.client_ca_file or tls.client_allowed_sans):
        raise ConfigError("client_ca_file and client_allowed_sans need client_auth_type")
    if not requests_certificate:
        return
    try:
        context.load_verify_locations(cafile=tls.client_ca_file)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{tls.client_ca_file} does not load: {error}") from error
    needed = tls.client_auth_type == "RequireAndVerifyClientCert"
    context.verify_mode = ssl.CERT_REQUIRED if needed else ssl.CERT_OPTIONAL


def names_in(certificate: object) -> frozenset[str]:
    """Subject alternative names of a peer certificate as `getpeercert` gives it."""
    if not isinstance(certificate, dict):
        return frozenset()
    return frozenset(str(name) for _, name in certificate.get("subjectAltName", ()))
