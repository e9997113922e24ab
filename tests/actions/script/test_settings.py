"""Mistakes in a site's configuration are named with their key, and never with a secret."""

import os
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.base.errors import ConfigError
from support.actions.hooks import script

HOOK: dict[str, Any] = {"argv": ["/bin/true"]}
OBSERVE: dict[str, Any] = {"argv": ["/bin/echo"]}
TRUSTED: dict[str, Any] = {**HOOK, "trusted": True}


def options(**changes: Any) -> dict[str, Any]:
    return {"observe": OBSERVE, "hooks": {"quarantine": HOOK}, **changes}


def hooked(**changes: Any) -> dict[str, Any]:
    return options(hooks={"quarantine": {**HOOK, **changes}})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "hooks: none is configured"),
        ({"hook": {}}, "hook: unknown key; did you mean hooks?"),
        (options(hooks={"quarantin": HOOK}), "quarantin"),
        (options(hooks={"follow_job": HOOK}), "hooks.follow_job: nothing is called for that"),
        (options(hooks={"probe": HOOK}), "hooks.probe: nothing is called for that"),
        (options(parallel=0), "parallel: expected 1 to 64"),
        (options(parallel=65), "parallel: expected 1 to 64"),
        (hooked(argv=[]), "hooks.quarantine: expected either argv or url"),
        (hooked(url="https://h/"), "hooks.quarantine: expected either argv or url"),
        (hooked(argv=["true"]), "hooks.quarantine.argv: the program needs its absolute path"),
        (hooked(argv=["/bin/a\0"]), "hooks.quarantine.argv: a NUL"),
        (hooked(timeout="soon"), "hooks.quarantine.timeout: 'soon' is not a valid duration"),
        (hooked(timeout="2h"), "hooks.quarantine.timeout: a timeout of 2h is out of range"),
        (hooked(observe_for="x"), "hooks.quarantine.observe_for: 'x' is not a valid duration"),
        (hooked(timeot="1s"), "timeot"),
        (hooked(secret="file:/x"), "hooks.quarantine: secret, token and ca_file belong to a url"),
        (hooked(env={"1a": "x"}), "hooks.quarantine.env: '1a' is not a valid variable name"),
        (hooked(env={"ACCELWATCH_NODE": "x"}), "hooks.quarantine.env.ACCELWATCH_NODE: names"),
        (hooked(env={"API_TOKEN": "hunter22"}), "hooks.quarantine.env.API_TOKEN: write file:"),
        (hooked(env={"A": "x\0"}), "hooks.quarantine.env.A: a NUL"),
        (hooked(env={"A": "env:NOT_THERE"}), "hooks.quarantine.env.A: the variable NOT_THERE"),
        (hooked(env={"A": "file:x"}), "hooks.quarantine.env.A: expected an absolute path"),
        (hooked(env={"A": "file:/no/file"}), "hooks.quarantine.env.A: /no/file cannot be read"),
        (options(survey={"url": "https://h/"}), "survey: expected a program"),
        (options(user="nobody-of-that-name"), "user: this machine knows no user"),
        ({"hooks": {"quarantine": HOOK}}, "hooks.quarantine: nothing observes its effect"),
        ({"hooks": {"reboot": TRUSTED}}, "hooks.reboot.trusted: this has to be observed"),
        ({"hooks": {"move_job": TRUSTED}}, "hooks.move_job.trusted: this has to be observed"),
        (options(observe={**OBSERVE, "timeout": "31s"}), "observe.timeout: expected at most"),
    ],
)
def test_mistakes(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        script(**given)
    assert text in str(caught.value)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"url": "ftp://h/"}, "hooks.quarantine.url: expected a URL"),
        ({"url": "https://u:p@h/"}, "hooks.quarantine.url: no user or password"),
        ({"url": "https://h/", "env": {"A": "b"}}, "hooks.quarantine.env: only a program"),
        ({"url": "https://h/", "secret": "whsec_x"}, "hooks.quarantine.secret: write file:/PATH"),
        ({"url": "https://h/", "token": "hunter22"}, "hooks.quarantine.token: write file:/PATH"),
        ({"url": "https://h/", "secret": "env:SHORT"}, "bytes are too few"),
        ({"url": "https://h/", "ca_file": "/no/file"}, "ca_file: /no/file"),
    ],
)
def test_mistakes_about_requests(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        script(environ={"SHORT": "whsec_aGk="}, **options(hooks={"quarantine": given}))
    assert text in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_without_an_observer_only_what_is_trusted_is_taken() -> None:
    made = script(hooks={"service": TRUSTED})
    assert made.intents == {IntentKind.SERVICE}
    assert not made.steps["service"].idempotent


def test_hooks_say_what_they_are() -> None:
    hooks = {
        "release": {**HOOK, "idempotent": True, "reversible": True, "timeout": "20s"},
        "reboot": {"url": "https://h/", "observe_for": "5m"},
    }
    steps = script(**options(hooks=hooks)).steps
    assert (steps["release"].idempotent, steps["release"].reversible) == (True, True)
    assert steps["release"].timeout_s > 20.0 + 10.0
    assert (steps["reboot"].idempotent, steps["reboot"].settle_s) == (False, 311.0)


def test_an_empty_file_holds_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("\n")
    with pytest.raises(ConfigError, match="holds no secret"):
        script(**hooked(env={"A": f"file:{file}"}))


def test_only_root_gives_programs_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match="only root can run programs as 'root'"):
        script(**options(user="root"))
