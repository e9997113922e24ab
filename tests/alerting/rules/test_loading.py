"""Rule files: what they mean, and every mistake with file, line, key and the mend."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.document import (
    JobPolicy,
    Mode,
    QuarantineLevel,
    Scope,
    Severity,
    Trust,
    When,
)
from accelwatch.alerting.rules.loading.configured import loaded_rules
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import RuleFiles, load
from accelwatch.alerting.rules.rule import Deadlines, EscalationStep, RuleSet
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.base.errors import ConfigError
from accelwatch.config.model import RuleSettings
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.rule_names import rule_names

HOT = """\
version: 1
rules:
- id: test.hot
  title: Too hot
  when: temperature_celsius > 90
"""


def loaded(folder: Path, *texts: str) -> RuleSet:
    files = []
    for at, text in enumerate(texts):
        files.append(folder / f"{at}.yaml")
        files[-1].write_text(text, encoding="utf-8")
    return load(files)


def refusal(folder: Path, *texts: str) -> str:
    with pytest.raises(ConfigError) as error:
        loaded(folder, *texts)
    return str(error.value).replace(f"{folder}/", "")


def test_what_a_rule_leaves_out_has_the_usual_value(tmp_path: Path) -> None:
    rule = loaded(tmp_path, HOT).rules["test.hot"]
    assert (rule.mode, rule.severity, rule.scope) == (Mode.OBSERVE, Severity.WARNING, Scope.DEVICE)
    assert (rule.timing.for_s, rule.timing.keep_s, rule.cooldown_s) == (0.0, 120.0, 1800.0)
    assert rule.family == "test.hot"
    assert rule.trust is Trust.AUTHENTICATED
    assert rule.action is None


def test_the_defaults_of_a_file_hold_for_its_own_rules_only(tmp_path: Path) -> None:
    defaults = "defaults: {mode: approve, keep: 5m, cooldown: 1h, unknown_after: 1m, trust: any}\n"
    own = HOT.replace("rules:", defaults + "rules:")
    other = HOT.replace("test.hot", "test.other")
    rules = loaded(tmp_path, own, other).rules
    assert rules["test.hot"].mode is Mode.APPROVE
    assert rules["test.hot"].trust is Trust.ANY
    assert rules["test.hot"].timing.keep_s == 300.0
    assert rules["test.hot"].timing.unknown_after_s == 60.0
    assert rules["test.hot"].cooldown_s == 3600.0
    assert rules["test.other"].timing.keep_s == 120.0


def test_a_rule_overrules_the_defaults(tmp_path: Path) -> None:
    text = HOT.replace("rules:", "defaults: {keep: 5m, mode: auto}\nrules:")
    rule = loaded(tmp_path, text + "  keep: 0\n  mode: off\n").rules["test.hot"]
    assert rule.timing.keep_s == 0.0
    assert rule.mode is Mode.OFF
    assert "rules[0].mode: is one of off, observe" in refusal(tmp_path, HOT + "  mode: on\n")


def test_an_action_is_checked_and_kept(tmp_path: Path) -> None:
    rule = loaded(
        tmp_path,
        HOT
        + """\
  action:
    quarantine: {level: node, when: now}
    job: {policy: requeue, signal: USR1, grace: 60s}
    spare: {draw: true}
    remedy: [reboot, {power_cycle: {max: 2}}, service]
    verify: [passive: 10m, active: gpu-quick]
    probation: 24h
    deadlines: {move: 2m, fence: 90}
  group: {by: labels.pdu, at_least: 4, within: 1m}
  canary: {share: 10%, for: 2h}
""",
    ).rules["test.hot"]
    action, group, canary = rule.action, rule.group, rule.canary
    assert action is not None
    assert group is not None
    assert canary is not None
    assert (action.quarantine, action.quarantine_when) == (QuarantineLevel.NODE, When.NOW)
    assert (action.job, action.signal, action.grace_s) == (JobPolicy.REQUEUE, "USR1", 60.0)
    assert action.draw_spare
    assert action.remedy == (
        EscalationStep(name="reboot"),
        EscalationStep(name="power_cycle", most=2),
        EscalationStep(name="service"),
    )
    assert (action.verify_passive_s, action.verify_active) == (600.0, ("gpu-quick",))
    assert action.probation_s == 86_400.0
    assert action.deadlines == Deadlines(move_s=120.0, fence_s=90.0)
    assert (group.by, group.at_least, group.within_s, group.calm_s) == (
        "labels.pdu",
        4,
        60.0,
        600.0,
    )
    assert (canary.share, canary.for_s) == (0.1, 7200.0)


@pytest.mark.parametrize(
    ("job", "when"),
    [
        ("{policy: cancel}", When.NOW),
        ("{policy: in_job}", When.NOW),
        ("{policy: cancel, signal: USR1}", When.AT_CHECKPOINT),
        ("{policy: requeue, signal: USR1}", When.AT_CHECKPOINT),
        ("{policy: requeue, signal: USR1}", When.AFTER_JOB),
        ("{policy: requeue}", When.AFTER_JOB),
        ("{policy: notify}", When.NOW),
    ],
)
def test_a_job_goes_with_when_its_node_is_taken_out(tmp_path: Path, job: str, when: When) -> None:
    action = f"  action: {{quarantine: {{when: {when}}}, job: {job}}}\n"
    written = loaded(tmp_path, HOT + action).rules["test.hot"].action
    assert written is not None
    assert written.quarantine_when is when


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("  action: {job: {signal: USR9}}\n", "action.job.signal: no signal 'USR9'"),
        ("  action: {spare: {draw: true}}\n", "action.spare.draw: a spare replaces a quarantined"),
        ("  action: {job: {policy: cancel}}\n", "action.job.policy: cancel is for a node that"),
        (
            "  action: {quarantine: {when: after_job}, job: {policy: cancel}}\n",
            "action.job.policy: cancel is for a node that is taken out at once",
        ),
        ("  action: {job: {policy: in_job}}\n", "action.job.policy: in_job is for a node that"),
        ("  action: {remedy: [kick]}\n", "action.remedy[0]: no remedy 'kick'; one of reset"),
        ("  action: {remedy: [{reboot: {max: 0}}]}\n", "action.remedy[0]: max is a number from 1"),
        ("  action: {remedy: [{reboot: {max: 11}}]}\n", "action.remedy[0]: max is a number from 1"),
        ("  action: {remedy: [{reboot: {max: true}}]}\n", "action.remedy[0]: max is a number"),
        ("  action: {remedy: [{a: 1, b: 2}]}\n", "action.remedy[0]: a word, or a word with"),
        ("  action: {verify: [{active: ''}]}\n", "action.verify[0]: {passive: 10m} or {active"),
        ("  action: {verify: [{passive: 1m, active: x}]}\n", "action.verify[0]: {passive: 10m} or"),
        (
            "  action: {quarantine: {level: device}, remedy: [reset, reboot]}\n",
            "action.remedy[1]: reboot is for the whole node; write quarantine: {level: node}",
        ),
        (
            "  action: {quarantine: {level: device}, remedy: [{power_cycle: {max: 1}}]}\n",
            "action.remedy[0]: power_cycle is for the whole node; write quarantine: {level: node}",
        ),
        (
            "  action: {quarantine: {level: device}, verify: [{passive: 1m}, {active: quick}]}\n",
            "action.verify[1]: a test needs the whole node; write quarantine: {level: node}",
        ),
        (
            "  action: {quarantine: {level: device}, spare: {draw: true}}\n",
            "action.spare.draw: a spare is a whole node; write quarantine: {level: node}",
        ),
        (
            "  action: {quarantine: {level: device, when: now}, job: {policy: in_job}}\n",
            "action.job.policy: in_job leaves the whole node out; write quarantine: {level: node}",
        ),
        (
            "  action: {quarantine: {when: at_checkpoint}}\n",
            "action.quarantine.when: a job checkpoints when it gets a signal; add job:",
        ),
        (
            "  action: {quarantine: {when: at_checkpoint}, job: {policy: notify, signal: USR1}}\n",
            "action.quarantine.when: a job checkpoints when it gets a signal",
        ),
        (
            "  action: {quarantine: {when: at_checkpoint}, job: {policy: requeue}}\n",
            "action.quarantine.when: a job checkpoints when it gets a signal",
        ),
        (
            "  action: {remedy: [driver_reload]}\n",
            "action.remedy[0]: no remedy 'driver_reload'; one of reset, reboot, power_cycle, service",
        ),
        ("  action: {remedy: [{script: reseat}]}\n", "action.remedy[0]: no remedy 'script'"),
        ("  action: {probation: soon}\n", "action.probation: 'soon' is not a valid duration"),
        (
            "  action: {deadlines: {move: 25h}}\n",
            "action.deadlines.move: from 10s to 24h; nothing may wait for longer unless a person",
        ),
        ("  action: {deadlines: {test: 0}}\n", "action.deadlines.test: from 10s to 24h"),
        ("  action: {deadlines: {repair: 1h}}\n", "action.deadlines.repair: unknown key"),
        ("  group: {by: colour}\n", "group.by: one of fleet, rack"),
        ("  group: {by: labels.}\n", "group.by: one of fleet, rack"),
        ("  group: {at_least: 1}\n", "group.at_least: Expected `int` >= 2"),
        ("  canary: {share: 0%}\n", "canary.share: a share of the fleet, such as 5%"),
        ("  canary: {share: 101%}\n", "canary.share: a share of the fleet, such as 5%"),
        ("  canary: {share: some}\n", "canary.share: a share of the fleet, such as 5%"),
        ("  for: 401d\n", "for: longer than 400 days"),
        ("  for: soon\n", "for: 'soon' is not a valid duration; write 2, 2s, 500ms or 5m"),
        ("  for: -3\n", "for: Expected `int` >= 0"),
        ("  severty: critical\n", "severty: unknown key; did you mean severity?"),
        (
            "  severity: loud\n",
            "severity: Invalid enum value 'loud'; one of info, warning, critical",
        ),
        ("  select: 7\n", "select: a mapping of fields to values, or an expression, is expected"),
        ("  select: {vendor: []}\n", "select: vendor: the list is empty"),
        ("  select: {vendor: true}\n", "select: vendor: text, a number or a list"),
        ("  select: {labels: pool}\n", "select: labels: a mapping of labels to values"),
        ("  select: {vendr: nvidia}\n", "select: unknown name vendr (column 1)"),
        ("  tests: [{name: a}, {name: a}]\n", "tests[1].name: 'a' is given twice"),
    ],
)
def test_what_is_wrong_names_its_key(tmp_path: Path, written: str, message: str) -> None:
    assert f"0.yaml:6: rules[0].{message}" in refusal(tmp_path, HOT + written)


@pytest.mark.parametrize("steps", ["", ", remedy: [reset, service]", ", verify: [{passive: 1m}]"])
def test_a_rule_about_devices_may_take_out_a_single_one(tmp_path: Path, steps: str) -> None:
    action = f"  action: {{quarantine: {{level: device}}{steps}}}\n"
    written = loaded(tmp_path, HOT + action).rules["test.hot"].action
    assert written is not None
    assert written.quarantine is QuarantineLevel.DEVICE


def test_a_rule_about_nodes_takes_out_no_single_device(tmp_path: Path) -> None:
    text = HOT.replace("temperature_celsius > 90", 'node_state == "down"\n  scope: node')
    message = refusal(tmp_path, text + "  action: {quarantine: {level: device}}\n")
    assert "action.quarantine.level: a rule of scope node names no device; write node" in message


def test_an_amendment_is_checked_as_well(tmp_path: Path) -> None:
    action = "{quarantine: {level: device}, remedy: [reboot]}"
    amendment = f"amend:\n- {{rules: [test.hot], action: {action}}}\n"
    assert "action.remedy[0]: reboot is for the whole node" in refusal(tmp_path, HOT + amendment)


def test_a_wrong_expression_has_its_caret(tmp_path: Path) -> None:
    assert refusal(tmp_path, HOT.replace("temperature", "temprature")) == (
        "0.yaml:5: rules[0].when: unknown name temprature_celsius (column 1)\n"
        "  temprature_celsius > 90\n"
        "  ^\n"
        "did you mean temperature_celsius?"
    )


def test_all_mistakes_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    first = HOT.replace("version: 1", "version: 7")
    second = HOT.replace("id: test.hot", "id: Test Hot") + "  for: soon\n  keep: later\n"
    message = refusal(tmp_path, first, second).splitlines()
    assert [line.partition(":")[0] for line in message] == ["0.yaml", "1.yaml", "1.yaml", "1.yaml"]


def test_an_id_has_at_most_a_hundred_letters(tmp_path: Path) -> None:
    longest = "a" * 100
    assert list(loaded(tmp_path, HOT.replace("test.hot", longest)).rules) == [longest]
    assert "rules[0].id: small letters" in refusal(tmp_path, HOT.replace("test.hot", longest + "a"))


def test_an_id_is_given_once(tmp_path: Path) -> None:
    assert refusal(tmp_path, HOT, HOT) == (
        "1.yaml:3: rules[0].id: test.hot is given twice; the other is in 0.yaml:3"
    )
    twice = HOT + HOT.partition("rules:\n")[2]
    assert "0.yaml:6: rules[1].id: test.hot is given twice" in refusal(tmp_path, twice)


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "rules.d"
    folder.mkdir()
    for name in ("20-b.yaml", "10-a.yml", "note.txt"):
        (folder / name).write_text(HOT.replace("test.hot", f"test.n{name[:2]}"), encoding="utf-8")
    assert list(load([folder]).rules) == ["test.n10", "test.n20"]


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such rule file"):
        load([tmp_path / "none.yaml"])


def test_an_empty_file_lacks_its_version(tmp_path: Path) -> None:
    wanted = "0.yaml:1: version: the version of the format is needed; write version: 1"
    assert refusal(tmp_path, "") == wanted
    assert refusal(tmp_path, HOT.replace("version: 1", "version: 7")) == wanted


def test_the_digest_follows_what_a_rule_says_but_not_its_tests(tmp_path: Path) -> None:
    plain = loaded(tmp_path, HOT)
    tested = loaded(tmp_path, HOT + "  tests: [{name: a}]\n")
    other = loaded(tmp_path, HOT.replace("90", "91"))
    assert plain.digest == tested.digest != other.digest


def test_a_profile_has_a_ceiling_that_exists(tmp_path: Path) -> None:
    profiles = "profiles: [{when: labels.pool == 'lab', ceiling: drain}, {ceiling: resume}]\nrules:"
    first, last = loaded(tmp_path, HOT.replace("rules:", profiles)).profiles
    assert first.when is not None
    assert (first.ceiling, last.when, last.ceiling) == ("drain", None, "resume")
    wrong = HOT.replace("rules:", "profiles: [{ceiling: sky}]\nrules:")
    assert "0.yaml:2: profiles[0].ceiling: is one of observe, quarantine" in refusal(
        tmp_path, wrong
    )


@pytest.mark.parametrize(
    ("select", "vendor", "chosen"),
    [
        ("{vendor: nvidia}", "nvidia", True),
        ("{vendor: nvidia}", "amd", False),
        ("{vendor: [amd, intel]}", "intel", True),
        ("{vendor: [amd, intel]}", "nvidia", False),
        ("{vendor: nvidia, index: 3}", "nvidia", False),
        ("""'vendor == "nvidia" or index == 3'""", "amd", False),
    ],
)
def test_a_selection_is_a_condition(tmp_path: Path, select: str, vendor: str, chosen: bool) -> None:
    rule = loaded(tmp_path, HOT + f"  select: {select}\n").rules["test.hot"]
    assert rule.select is not None
    member = Member(node="n1", device="nvidia0", fields={"vendor": vendor, "index": 1})
    (view,) = World(rule.select.needs, 10.0, [member]).views.values()
    assert rule.select.evaluate(view) is chosen


def test_packs_without_their_tests_say_the_same() -> None:
    files = [pack_file(name) for name in pack_names()]
    whole, fast = load(files), load(files, tests=False)
    assert fast.digest == whole.digest
    assert list(fast.rules) == list(whole.rules)
    for id_, rule in fast.rules.items():
        assert rule.origin == whole.rules[id_].origin
        assert not rule.tests


def test_rules_of_packs_that_concern_nobody_are_left_out(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "version: 1\nrules:\n- {id: own, title: t, when: present(power_watts), select: {vendor: amd}}\n"
    )
    files = RuleFiles([pack_file("amd"), pack_file("kernel"), own])
    scopes: set[Scope] = set()

    def concerned(scope: Scope, select: RuleExpression | None) -> bool:
        scopes.add(scope)
        return select is None

    rules = files.rules(concerned=concerned).rules
    assert "own" in rules
    assert not any(id_.startswith("amd.") for id_ in rules)
    assert any(id_.startswith("kernel.") for id_ in rules)
    assert {Scope.DEVICE, Scope.NODE} <= scopes


def test_what_was_checked_is_not_checked_again_for_the_next_reader() -> None:
    files = RuleFiles([pack_file("kernel")])
    first = files.rules(concerned=lambda scope, select: True).rules
    second = files.rules(concerned=lambda scope, select: True).rules
    other = files.rules(rule_names()).rules
    assert first == second == other
    for id_, rule in first.items():
        assert second[id_].when.tree is rule.when.tree
        assert second[id_].when.cost is not rule.when.cost
        assert other[id_].when.tree is not rule.when.tree


def test_files_that_say_the_same_are_checked_once(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    text = "version: 1\nrules:\n- {id: own, title: t, when: power_watts > 1}\n"
    file.write_text(text)
    settings = RuleSettings(files=(str(file),))
    loaded = loaded_rules(settings)
    assert loaded_rules(settings) is loaded
    file.write_text(text.replace("> 1", "> 2"))
    assert loaded_rules(settings).rules["own"].when.text == "power_watts > 2"


@pytest.mark.parametrize("written", ["", " 5"])
def test_rules_that_are_no_list_are_refused_and_break_nothing(tmp_path: Path, written: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"version: 1\nrules:{written}\n")
    with pytest.raises(ConfigError, match="rules.yaml:2: rules: Expected"):
        load([file])
