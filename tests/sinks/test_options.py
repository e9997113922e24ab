"""Options that cannot be right are refused before anything is sent, and secrets are not repeated."""

from typing import Any

import pytest

from accelwatch.base.errors import ConfigError, OptionsError
from support.incidents.sinks import sink

# Of the standard library's modules that apprise still imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

URL = "https://example.org/x"
MAIL = {"host": "mail", "sender": "gpus@example.org", "to": ["ops@example.org"]}


@pytest.mark.parametrize(
    ("plugin", "options", "message"),
    [
        ("webhook", {}, "url: is missing"),
        ("webhook", {"url": 7}, "url: expected text; put it in quotes"),
        ("webhook", {"url": URL, "urk": 1}, "urk: unknown key; did you mean url?"),
        ("slack", {"zzz": 1}, "zzz: unknown key; expected one of api, channel, token_file, url"),
        ("webhook", {"url": "file:///etc/passwd"}, "url: expected a URL"),
        ("webhook", {"url": "https://me:pw@example.org"}, "no user or password"),
        ("webhook", {"url": "https://exa mple.org"}, "url: expected a URL"),
        ("webhook", {"url": "https://[::1"}, "url: expected a URL"),
        ("webhook", {"url": URL, "secret": "hush-hush"}, "expected whsec_ and base64"),
        ("webhook", {"url": URL, "secret": "whsec_%%"}, "not base64"),
        ("webhook", {"url": URL, "secret": "whsec_aHVzaC1odXNo"}, "9 bytes are too few"),
        ("webhook", {"url": URL, "ca_file": "/no/such"}, "no certificates can be read"),
        ("slack", {}, "expected url, of an incoming webhook, or token and channel"),
        ("slack", {"url": URL, "token": "hush-hush"}, "expected url, of an incoming"),
        ("slack", {"token": "hush-hush"}, "channel: a token needs one"),
        ("slack", {"token": "hush\nhush", "channel": "C1"}, "one line of ASCII"),
        ("teams", {"url": "x"}, "url: expected a URL"),
        ("alertmanager", {"url": []}, "url: expected text or a list of 1 to 16 texts"),
        ("alertmanager", {"url": URL, "labels": {"a-b": "c"}}, "'a-b' is not a valid label name"),
        ("email", {**MAIL, "to": ["a@b, c@d"]}, "to: expected an address"),
        ("email", {**MAIL, "sender": "a@b\r\nBcc: c@d"}, "sender: expected an address"),
        ("email", {**MAIL, "to": []}, "to: expected a list of 1 to 50 texts"),
        ("email", {**MAIL, "to": "z"}, "to: expected a list of 1 to 50 texts"),
        (
            "email",
            {"host": "mail", "sender": "a@b"},
            "to: is missing: expected to, a list of addre",
        ),
        ("email", {"host": "m", "sender": "a@b", "to_users": ""}, "to: is missing: expected to,"),
        ("email", {**MAIL, "to": [], "to_users": "{user}@b"}, "to: expected a list of 1 to 50"),
        ("email", {**MAIL, "to_users": "a@b"}, "to_users: expected one {user}"),
        ("email", {**MAIL, "to_users": "{user}"}, "to_users: expected an address"),
        ("email", {**MAIL, "to": [7]}, "to: expected a list of 1 to 50 texts"),
        ("email", {**MAIL, "port": 0}, "port: expected a number from 1 to 65535"),
        ("email", {**MAIL, "tls": "no"}, "tls: expected one of always, never, starttls"),
        ("email", {**MAIL, "host": ""}, "host: expected text of 1 to 253 characters"),
        ("email", {**MAIL, "sender": "a" * 255}, "sender: expected text of at most 254 characters"),
        ("webhook", {"url": URL, "updates": "yes"}, "updates: expected true or false"),
        ("webhook", {"url": URL, "tokenfile": "x"}, "tokenfile: unknown key; did you mean token_"),
        (
            "alertmanager",
            {"url": URL, "labels": {"rack": 7}},
            "labels: expected a mapping with a text for each key",
        ),
        ("email", {**MAIL, "username": "me"}, "username and password_file are both needed"),
        (
            "email",
            {**MAIL, "username": "me", "password": "hush-hush", "tls": "never"},
            "does not go in the clear",
        ),
        ("apprise", {"url": "nosuch://hush-hush"}, "knows no service for URL number 1"),
        ("apprise", {"url": ["json://localhost?redirect=yes"]}, "redirects are not followed"),
    ],
)
def test_it_is_refused(plugin: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sink(plugin, **options)
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_every_mistake_is_reported_at_once() -> None:
    with pytest.raises(OptionsError) as refused:
        sink("email", host=7, to="z", passwordfile="x")
    assert refused.value.mistakes == {
        "host": "expected text of 1 to 253 characters; put it in quotes",
        "to": "expected a list of 1 to 50 texts",
        "passwordfile": "unknown key; did you mean password_file?",
        "sender": "is missing",
    }
    assert str(refused.value).splitlines()[3] == "sender: is missing"
