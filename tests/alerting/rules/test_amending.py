"""What a site says of a pack's rules: how far they may go, and nothing about what they look for."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.document import Confidence, Mode, QuarantineLevel, Trust
from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import RuleFiles, load
from accelwatch.alerting.rules.rule import Canary, RuleSet
from accelwatch.base.errors import ConfigError

ACTS = """\
version: 1
amend:
- rules: [nvidia.lost, "nvidia.nvlink.*"]
  mode: auto
  trust: any
  action: {quarantine: {level: node, when: now}, remedy: [reboot]}
  canary: {share: 10%, for: 12h}
"""


def loaded(folder: Path, *texts: str) -> RuleSet:
    return load([pack_file("nvidia"), *written(folder, *texts)], tests=False)


def written(folder: Path, *texts: str) -> list[Path]:
    files = [folder / f"{at}.yaml" for at in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def refusal(folder: Path, *texts: str) -> str:
    with pytest.raises(ConfigError) as error:
        loaded(folder, *texts)
    return str(error.value).replace(f"{folder}/", "")


def test_a_rule_of_a_pack_goes_as_far_as_the_site_says(tmp_path: Path) -> None:
    shipped, rules = loaded(tmp_path), loaded(tmp_path, ACTS)
    before, after = shipped.rules["nvidia.lost"], rules.rules["nvidia.lost"]
    assert (before.mode, before.action) == (Mode.OBSERVE, None)
    assert (after.mode, after.trust) == (Mode.AUTO, Trust.ANY)
    assert after.action is not None
    assert after.action.quarantine is QuarantineLevel.NODE
    assert after.canary == Canary(share=0.1, for_s=12 * 3600.0)
    assert (after.when.text, after.origin) == (before.when.text, before.origin)
    nvlinks = [id_ for id_, rule in rules.rules.items() if rule.mode is Mode.AUTO]
    assert "nvidia.nvlink.down" in nvlinks
    assert all(id_ == "nvidia.lost" or id_.startswith("nvidia.nvlink.") for id_ in nvlinks)
    assert list(rules.rules) == list(shipped.rules)


def test_a_rule_of_low_confidence_may_be_let_act(tmp_path: Path) -> None:
    acts = "version: 1\namend:\n- {rules: [nvidia.missing], act_on: low}\n"
    before, after = (
        rules.rules["nvidia.missing"] for rules in (loaded(tmp_path), loaded(tmp_path, acts))
    )
    assert (before.confidence, before.act_on) == (Confidence.LOW, Confidence.HIGH)
    assert (after.confidence, after.act_on) == (Confidence.LOW, Confidence.LOW)
    assert after.digest != before.digest
    assert "act_on of nvidia.missing is amended twice" in refusal(tmp_path, acts, acts)


def test_what_an_amendment_does_not_say_stays_as_it_is(tmp_path: Path) -> None:
    rule = """\
version: 1
rules:
- id: test.hot
  title: Too hot
  when: temperature_celsius > 90
  mode: approve
  trust: any
  action: {quarantine: {level: node, when: now}, remedy: [reboot]}
  canary: {share: 10%, for: 12h}
"""
    before = loaded(tmp_path, rule).rules["test.hot"]
    amendments = {
        "mode": "auto",
        "trust": "authenticated",
        "action": "{remedy: [power_cycle]}",
        "canary": "{share: 20%, for: 1h}",
    }
    for key, value in amendments.items():
        amendment = f"version: 1\namend:\n- {{rules: [test.hot], {key}: {value}}}\n"
        after = loaded(tmp_path, rule, amendment).rules["test.hot"]
        changed = {one for one in amendments if getattr(after, one) != getattr(before, one)}
        assert changed == {key}


def test_an_amended_rule_is_another_rule_to_a_canary(tmp_path: Path) -> None:
    digests = {
        loaded(tmp_path, *texts).rules["nvidia.lost"].digest
        for texts in ((), (ACTS,), (ACTS.replace("auto", "approve"),))
    }
    assert len(digests) == 3
    assert loaded(tmp_path, ACTS).digest != loaded(tmp_path).digest


def test_a_rule_of_a_pack_is_switched_off(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "version: 1\namend:\n- {rules: [nvidia.lost], mode: off}\n")
    assert rules.rules["nvidia.lost"].mode is Mode.OFF


def test_amendments_of_different_things_add_up(tmp_path: Path) -> None:
    more = "version: 1\namend:\n- {rules: [nvidia.lost], mode: approve}\n"
    trust = "version: 1\namend:\n- {rules: [nvidia.lost], trust: any}\n"
    rule = loaded(tmp_path, more, trust).rules["nvidia.lost"]
    assert (rule.mode, rule.trust) == (Mode.APPROVE, Trust.ANY)


@pytest.mark.parametrize(
    ("amendment", "complaint"),
    [
        ("{rules: [nvidia.lots], mode: auto}", "no rule 'nvidia.lots'; did you mean nvidia.lost?"),
        ('{rules: ["amd.*"], mode: auto}', "no rule 'amd.*'; is its pack or file among the rules?"),
        ("{rules: [], mode: auto}", "no rule is named"),
        ("{rules: [nvidia.lost]}", "nothing is amended; write mode, act_on"),
        ("{rules: [nvidia.lost], mode: on}", "is one of off, observe, approve, auto"),
        ("{rules: [nvidia.lost], when: 1 == 1}", "when"),
        ("{rules: [nvidia.lost], action: {remedy: [dance]}}", "no remedy 'dance'"),
    ],
)
def test_a_mistake_is_named_with_its_position(
    tmp_path: Path, amendment: str, complaint: str
) -> None:
    text = refusal(tmp_path, f"version: 1\namend:\n- {amendment}\n")
    assert "0.yaml:3" in text
    assert complaint in text


def test_two_amendments_of_one_thing_are_a_mistake(tmp_path: Path) -> None:
    other = "version: 1\namend:\n- {rules: [nvidia.lost], mode: observe}\n"
    text = refusal(tmp_path, ACTS, other)
    assert "1.yaml:3" in text
    assert "mode of nvidia.lost is amended twice" in text


def test_rules_that_concern_nobody_here_may_be_amended(tmp_path: Path) -> None:
    files = RuleFiles([pack_file("nvidia"), *written(tmp_path, ACTS)], tests=False)
    assert files.rules(concerned=lambda scope, select: False).rules == {}
