"""A configuration that is read again: what nobody can have meant is refused, what is lost is told."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import Alerts, DeadMan, SinkSettings
from accelwatch.config.model import RuleSettings, Settings
from accelwatch.config.otlp import Otlp
from accelwatch.config.reloading import check_filled, losses
from accelwatch.fleet.hub.model import effective as of_hub
from config.loading import Write, load

RULES = RuleSettings(packs=("nvidia",))
NOTIFYING = Alerts(sinks=(SinkSettings(name="a", type="webhook"),))
GUARDED = Alerts(dead_man=DeadMan(url_file="/url"))
PUSHED = Otlp(endpoint="http://collector:4318")


@pytest.mark.parametrize("text", ["", "# soon\n\n", "{}\n", "---\n", "rules:\n", "rules: {}\n"])
def test_a_file_that_has_become_empty_is_refused(write: Write, text: str) -> None:
    file = write(text)
    assert not load(file).filled
    with pytest.raises(ConfigError) as refused:
        check_filled(Settings(rules=RULES), load(file), file)
    assert str(refused.value) == (
        f"{file}: the file sets nothing; write it again, or restart to run without it"
    )


def test_a_file_that_is_not_found_any_more_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"agent\.yaml: the file is not there any more; write"):
        check_filled(Settings(rules=RULES), load(None), tmp_path / "agent.yaml")


def test_a_file_that_gives_anything_is_taken(write: Write) -> None:
    file = write("log: {level: info}\n")
    check_filled(Settings(rules=RULES), load(file), file)


def test_an_empty_file_that_takes_nothing_away_is_taken(write: Write) -> None:
    file = write("")
    check_filled(Settings(), load(file), file)
    check_filled(load(None).settings, load(None), None)


def test_flags_and_variables_are_nothing_of_the_file(write: Write) -> None:
    file, environ, flags = write(""), {"ACCELWATCH_LOG_LEVEL": "debug"}, {"log.format": "json"}
    found = load(file, environ, flags)
    assert not found.filled
    check_filled(found.settings, found, file)
    assert not of_hub(file, {"log.level": "debug"}).filled


def test_a_hubs_file_says_whether_it_gives_anything(write: Write) -> None:
    file = write("log: {level: debug}\n")
    found = of_hub(file, {"log.level": "error"})
    assert (found.filled, found.file) == (True, file)
    assert found.sources == {"log.level": "--log.level"}
    assert not of_hub(None).filled


@pytest.mark.parametrize(
    ("before", "after", "section"),
    [
        (Settings(rules=RULES), Settings(), "no rules any more: no rule is evaluated any more"),
        (
            Settings(rules=RULES),
            Settings(rules=RuleSettings(interval_s=2.0)),
            "no rules any more: no rule is evaluated any more",
        ),
        (
            Settings(alerts=NOTIFYING),
            Settings(),
            "no alerts any more: no notification is sent any more",
        ),
        (
            Settings(alerts=GUARDED),
            Settings(),
            "no alerts any more: no notification is sent any more",
        ),
        (Settings(otlp=PUSHED), Settings(), "no otlp any more: nothing is pushed any more"),
    ],
)
def test_a_section_that_is_gone_is_reported(
    before: Settings, after: Settings, section: str
) -> None:
    assert list(losses(before, after)) == [f"the configuration has {section}"]


def test_every_loss_is_reported() -> None:
    assert len(list(losses(Settings(rules=RULES, alerts=NOTIFYING, otlp=PUSHED), Settings()))) == 3


def test_what_is_still_there_or_never_was_is_not_reported() -> None:
    full = Settings(rules=RULES, alerts=NOTIFYING, otlp=PUSHED)
    assert list(losses(full, full)) == []
    assert list(losses(Settings(), full)) == []
    assert list(losses(Settings(alerts=NOTIFYING), Settings(alerts=GUARDED))) == []
