"""What docs/fleet/observe-to-auto.md has an operator write is read by the very loaders of a hub."""

import re
from pathlib import Path

import pytest

from accelwatch.alerting.rules.document import Mode
from accelwatch.alerting.rules.loading.lint import doubts
from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.cli.servers.config_command import hub_config_check
from accelwatch.fleet.hub.model import HubSettings, load_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet" / "observe-to-auto.md"
RULES = "/etc/accelwatch/rules.d/acting.yaml"
HUB = "/etc/accelwatch/hub.yaml"
WEEKS = ("Before", "Week 1", "Week 2", "Week 3", "Week 4")


def blocks(week: str) -> dict[str, str]:
    """The YAML of a week, by the file that it is for."""
    (section,) = [part for part in PAGE.read_text().split("\n## ") if part.startswith(week)]
    found = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return dict(found)


def settings_of(week: str, folder: Path) -> HubSettings:
    text = blocks(week)[HUB].replace("/etc/accelwatch", str(folder))
    (folder / "rules.d").mkdir()
    for name in ("oncall.url", "dead-man.url"):
        (folder / name).write_text("http://127.0.0.1:9/x")
        (folder / name).chmod(0o600)
    (folder / "hub.yaml.txt").write_text(text, encoding="utf-8")
    return load_settings(folder / "hub.yaml.txt")


def rules_of(week: str, folder: Path) -> RuleSet:
    file = folder / "acting.yaml"
    file.write_text(blocks(week)[RULES], encoding="utf-8")
    return load([pack_file("nvidia"), file], tests=False)


def test_every_block_of_the_page_is_of_a_file_and_a_week() -> None:
    shown = len(re.findall(r"^```yaml$", PAGE.read_text(), re.MULTILINE))
    assert shown == sum(len(blocks(week)) for week in WEEKS) == 9


def test_a_hub_is_made_ready(tmp_path: Path) -> None:
    settings = settings_of("Before", tmp_path)
    assert settings.scrape.scheme == "https"
    assert settings.history.folder
    assert not settings.remedy.acts


@pytest.mark.parametrize(
    ("week", "ceiling", "mode"),
    [
        ("Week 1", "observe", Mode.OBSERVE),
        ("Week 2", "quarantine", Mode.APPROVE),
        ("Week 3", "drain", Mode.AUTO),
        ("Week 4", "resume", Mode.AUTO),
    ],
)
def test_a_week_goes_as_far_as_it_says(tmp_path: Path, week: str, ceiling: str, mode: Mode) -> None:
    rules = rules_of(week, tmp_path)
    settings = settings_of(week, tmp_path)
    assert settings.remedy.ceiling == ceiling
    assert settings.remedy.acts is (week != "Week 1")
    lost = rules.rules["nvidia.lost"]
    assert lost.mode is mode
    assert lost.action is not None
    assert lost.action.quarantine is not None
    assert (lost.canary is not None) is (week == "Week 3")
    assert [profile.ceiling for profile in rules.profiles] == (
        ["resume", "quarantine"] if week == "Week 4" else []
    )


@pytest.mark.parametrize("week", ["Week 3", "Week 4"])
def test_what_is_to_act_by_itself_requests_no_approval(tmp_path: Path, week: str) -> None:
    rules = rules_of(week, tmp_path)
    acting = [one for one in rules.rules.values() if one.mode is Mode.AUTO]
    assert {"nvidia.lost", "nvidia.missing"} <= {one.id for one in acting}
    assert all(one.confidence.suffices(one.act_on) for one in acting)
    assert [doubt for one in acting for doubt in doubts(one)] == []


@pytest.mark.parametrize("week", WEEKS[1:])
def test_a_week_fits_together_with_what_was_before(
    tmp_path: Path, week: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `accelwatch config check --hub` sees it."""
    (tmp_path / "rules.d").mkdir()
    for name in ("oncall.url", "dead-man.url"):
        (tmp_path / name).write_text("http://127.0.0.1:9/x")
        (tmp_path / name).chmod(0o600)
    (tmp_path / "rules.d" / "acting.yaml").write_text(blocks(week)[RULES], encoding="utf-8")
    text = blocks("Before")[HUB] + blocks(week)[HUB]
    file = tmp_path / "hub.yaml"
    file.write_text(text.replace("/etc/accelwatch", str(tmp_path)), encoding="utf-8")
    assert hub_config_check(file) == 0
    assert capsys.readouterr().err == f"accelwatch: {file}: ok\n"
