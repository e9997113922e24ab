"""The web configuration file, in the format of Prometheus' exporter-toolkit: TLS, passwords, tokens.

Reading is strict and pure but for the files named in it; `Protection` is what the server works with.
"""

import hashlib
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.base.errors import ConfigError
from accelwatch.config.reader import Reader, Values, build
from accelwatch.system.located_yaml.complaint import Complaint, refuse
from accelwatch.system.located_yaml.nodes import read_file
from accelwatch.web.protection.roles import Role, Roles, by_name, mistakes_in
from accelwatch.web.protection.tls import TlsSettings, server_context

FilePath = Annotated[str, Meta(extra={"form": "path"})]

_BCRYPT = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
# A check of cost 15 lasts seconds; each further step doubles it.
_MAX_COST = 15
_MIN_TOKEN = 16
_TOKEN = re.compile(r"[\x21-\x7e]+")
_REFUSED = {
    "tls_server_config.cert": "inline certificates are not taken; use cert_file",
    "tls_server_config.key": "inline keys are not taken; use key_file",
    "tls_server_config.client_ca": "inline certificates are not taken; use client_ca_file",
    "tls_server_config.curve_preferences": "cannot be set here; OpenSSL's own order is used",
    "rate_limit": "is not supported; see web.max_requests in agent.yaml",
}
_NEVER_EMPTY = {
    "roles": "every authenticated user could do everything: name a user under approve, act or admin",
    "basic_auth_users": "no client would have to authenticate: name a user",
    "bearer_token_file": "no client would have to authenticate: name a file",
    "bearer_token_files": "no client would have to authenticate: name a file",
    "tls_server_config": "connections would not be encrypted: write cert_file and key_file",
}


class Headers(msgspec.Struct, frozen=True, kw_only=True):
    """Response headers that may be set; the list is exporter-toolkit's."""

    strict_transport_security: str | None = field(default=None, name="Strict-Transport-Security")
    content_type_options: Literal["nosniff"] | None = field(
        default=None, name="X-Content-Type-Options"
    )
    frame_options: str | None = field(default=None, name="X-Frame-Options")
    xss_protection: str | None = field(default=None, name="X-XSS-Protection")
    content_security_policy: str | None = field(default=None, name="Content-Security-Policy")


class HttpServer(msgspec.Struct, frozen=True, kw_only=True):
    """`http2` is accepted for compatibility; the agent speaks HTTP/1.1 only."""

    http2: bool = False
    headers: Headers = Headers()


class WebConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The file as written, paths absolute."""

    tls_server_config: TlsSettings = TlsSettings()
    http_server_config: HttpServer = HttpServer()
    basic_auth_users: dict[str, str] = {}
    bearer_token_file: FilePath | None = None
    bearer_token_files: tuple[FilePath, ...] = ()
    roles: Roles = Roles()


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What the server requires of a client, and the files that decided it."""

    # User name to bcrypt hash.
    users: dict[str, str] = {}
    tokens: tuple[str, ...] = ()
    # Where each token was read, which is its name among the roles.
    token_files: tuple[str, ...] = ()
    # By user, token file or name in a certificate; None: whoever is admitted may do everything.
    roles: Mapping[str, Role] | None = None
    tls: "ssl.SSLContext | None" = None
    # Whether a connection without a verified client certificate is refused.
    client_certificates: bool = False
    allowed_sans: frozenset[str] = frozenset()
    headers: dict[str, str] = {}
    # Every file read, with a digest of its content; the web configuration itself is the first.
    files: dict[str, str] = {}
    # Whether the file says anything at all.
    configured: bool = False

    @property
    def authenticates(self) -> bool:
        """Whether a stranger is turned away."""
        return bool(self.users or self.tokens or self.client_certificates)

    def role_of(self, name: str) -> Role:
        """What somebody may do who was admitted by this name."""
        return Role.ADMIN if self.roles is None else self.roles.get(name, Role.READ)


def load_protection(path: Path) -> Protection:
    """Read the file and all it names. Raises ConfigError with every mistake, and its line."""
    data = read_file(path)
    values, complaints = Reader(WebConfig, _REFUSED, _NEVER_EMPTY).parse(data, path)
    complaints += _check_users(values)
    refuse(complaints)
    config: WebConfig = build(WebConfig, values)
    tls = config.tls_server_config
    roles = _roles(config, values, path.absolute().parent)
    named = [tls.cert_file, tls.key_file, tls.client_ca_file, *_token_files(config)]
    contents = {name: _named_file(name, path) for name in named if name}
    return Protection(
        users=config.basic_auth_users,
        tokens=tuple(_token(name, contents[name]) for name in _token_files(config)),
        token_files=_token_files(config),
        roles=roles,
        tls=_context(tls, values),
        client_certificates=tls.client_auth_type == "RequireAndVerifyClientCert",
        allowed_sans=tls.client_allowed_sans,
        headers=_headers(config.http_server_config.headers),
        configured=bool(values),
        files={name: _digest(content) for name, content in {str(path): data, **contents}.items()},
    )


def _token_files(config: WebConfig) -> tuple[str, ...]:
    single = (config.bearer_token_file,) if config.bearer_token_file else ()
    return (*single, *config.bearer_token_files)


def _named_file(name: str, path: Path) -> bytes:
    try:
        return read_file(Path(name))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_users(values: Values) -> list[Complaint]:
    users = values.get("basic_auth_users")
    if users is None:
        return []
    complaints = []
    for user, hashed in users.value.items():
        match = _BCRYPT.fullmatch(hashed)
        key = f"basic_auth_users.{user}"
        if not user or ":" in user:
            complaints.append(Complaint(users.source, key, "a user name has no colon"))
        elif match is None:
            text = "not a bcrypt hash; make one with: htpasswd -nBC 10 <user>"
            complaints.append(Complaint(users.source, key, text))
        elif not 4 <= int(match[1]) <= _MAX_COST:
            text = f"bcrypt cost {int(match[1])} is out of range; expected 4 to {_MAX_COST}"
            complaints.append(Complaint(users.source, key, text))
    return complaints


def _roles(config: WebConfig, values: Values, folder: Path) -> Mapping[str, Role] | None:
    """Raises ConfigError for names that nobody can have."""
    used = sorted(key for key in values if key.startswith("roles."))
    if not used:
        return None
    configured = {*config.basic_auth_users, *_token_files(config)}
    certificates = config.tls_server_config.client_ca_file is not None
    position = values[used[0]].source
    refuse(
        mistakes_in(config.roles, folder, configured, certificates=certificates, position=position)
    )
    return by_name(config.roles, folder, configured)


def _token(name: str, content: bytes) -> str:
    text = content.decode("ascii", "replace").strip()
    if len(text) < _MIN_TOKEN or not _TOKEN.fullmatch(text):
        raise ConfigError(
            f"{name}: a bearer token is one line of at least {_MIN_TOKEN} printable characters"
        )
    return text


def _context(tls: TlsSettings, values: Values) -> "ssl.SSLContext | None":
    used = sorted(key for key in values if key.startswith("tls_server_config."))
    if not used:
        return None
    try:
        return server_context(tls)
    except ConfigError as error:
        raise ConfigError(f"{values[used[0]].source}: tls_server_config: {error}") from error


def _headers(headers: Headers) -> dict[str, str]:
    named = zip(Headers.__struct_encode_fields__, msgspec.structs.astuple(headers), strict=True)
    return {name: value for name, value in named if value is not None}
