"""`accelwatch rules` as somebody types it."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from accelwatch.alerting.rules.loading.pack_files import PACKS, pack_names
from accelwatch.cli.startup.app import build

RULES = """\
version: 1
rules:
- id: site.hot
  title: Too hot
  when: avg(temperature_celsius, "5m") > 90
  what_to_do: look at the fans
  tests:
  - name: fires
    given: [{device: nvidia0, values: {temperature_celsius: 95 x40}}]
    expect: {fires: {nvidia0: 140s}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["rules", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_good_rules_are_ok_and_their_cost_is_printed(file: Path) -> None:
    code, _, errors = run("check", file)
    assert code == 0
    assert "ok; rules: 1, files: 1; 2 windows take 3 MiB for 8000 devices on 1000 nodes" in errors


def test_the_memory_of_nodes_with_one_device_is_printed_when_they_are_counted(file: Path) -> None:
    file.write_text(RULES.replace("temperature_celsius", "host_memory_available_bytes"), "utf-8")
    eight = json.loads(run("check", file, "--devices", "64", "--json")[1])
    one = json.loads(run("check", file, "--devices", "64", "--nodes", "64", "--json")[1])
    assert (eight["nodes"], one["nodes"]) == (8, 64)
    assert one["window_bytes"] > eight["window_bytes"]
    assert "for 1 device on 1 node" in run("check", file, "--devices", "1")[2]


@pytest.mark.parametrize("words", [("check",), ("test",), ("list",), ("export",), ("show", "a")])
def test_a_folder_without_a_rule_file_is_a_mistake(
    file: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "rules.d"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "rules.yaml").write_text(RULES, encoding="utf-8")
    code, out, errors = run(*words, file, folder)
    assert (code != 0, out) == (True, "")
    assert f"{folder}: there is no rule file in this folder; they end in .yaml or .yml" in errors
    (folder / "more.yml").write_text(RULES.replace("site.hot", "a"), encoding="utf-8")
    assert run("check", file, folder)[0] == 0


def test_windows_that_cost_too_much_are_refused_with_the_dearest(file: Path) -> None:
    code, _, errors = run("check", file, "--devices", "5000000")
    assert code != 0
    assert "the dearest are" in errors
    assert "site.hot" in errors


def test_windows_name_the_line_of_their_rules(file: Path) -> None:
    assert f"site.hot ({file}:3)" in run("check", file, "--devices", "5000000")[2]


def test_check_and_test_print_json_too(file: Path) -> None:
    document = json.loads(run("check", file, "--json")[1])
    assert (document["rules"], document["files"], document["windows"]) == (1, 1, 2)
    assert document["window_bytes"] > 1 << 20
    assert json.loads(run("test", file, "--json")[1]) == {
        "passed": 1, "failed": [], "untested": []
    }  # fmt: skip
    file.write_text(RULES.replace("140s", "20s"), encoding="utf-8")
    code, out, _ = run("test", file, "--json")
    (failed,) = json.loads(out)["failed"]
    assert (code, failed["rule"], failed["line"], failed["test"]) == (1, "site.hot", 3, "fires")


def test_one_window_takes_and_two_take(file: Path) -> None:
    file.write_text(RULES.replace("temperature_celsius", "power_watts"), encoding="utf-8")
    assert "1 window takes" in run("check", file)[2]


@pytest.mark.parametrize(
    ("when", "doubt"),
    [
        ("utilization_ratio > 90", "between 0 and 1, never 90: for 90 % write 0.9"),
        ("90 < utilization_ratio", "between 0 and 1, never 90: for 90 % write 0.9"),
        ('avg(utilization_ratio, "5m") > 90', "between 0 and 1, never 90"),
        ('power_watts > 1 and peer_median(utilization_ratio, by="node") > 5', "never 5"),
        ("utilization_ratio > -1", "between 0 and 1, never -1"),
        ("utilization_ratio > 200", "between 0 and 1, never 200"),
        ("temperature_celsius > 900", "between -60 and 200 celsius, never 900"),
    ],
)
def test_a_number_that_a_quantity_never_reaches_is_doubted(
    file: Path, when: str, doubt: str
) -> None:
    file.write_text(f"version: 1\nrules:\n- {{id: a, title: A, when: '{when}'}}\n")
    code, out, errors = run("check", file, "--json")
    assert code == 0
    assert f"is this meant? {file}:3: a: when: " in errors
    (reported,) = json.loads(out)["doubts"]
    assert doubt in reported


def test_an_event_of_a_test_that_matches_nothing_is_doubted(file: Path) -> None:
    file.write_text(
        "version: 1\nrules:\n- id: a\n  title: A\n"
        '  when: \'event("kernel", category == "bus")\'\n  tests:\n  - name: case\n'
        "    given: [{device: a, events: [{at: 3s, code: edac}]}]\n    expect: {fires: {a: 3s}}\n"
    )
    doubt = f"is this meant? {file}:3: a: tests['case'].given[0].events[0]: edac matches nothing"
    code, _, stderr = run("check", file)
    assert code == 0
    assert doubt in stderr
    code, _, stderr = run("test", file)
    assert code == 1
    assert doubt in stderr


@pytest.mark.parametrize(
    "when",
    [
        "utilization_ratio > 0.9",
        "utilization_ratio >= 1",
        'rate(energy_joules_total, "5m") > 1e9',
        'duty(ecc_enabled, "10m") > 5',
        "utilization_ratio * 100 > 90",
        'model == "H100"',
        "node.count(utilization_ratio > 0.5) > 3",
    ],
)
def test_what_may_be_is_not_doubted(file: Path, when: str) -> None:
    file.write_text(f"version: 1\nrules:\n- {{id: a, title: A, when: '{when}'}}\n")
    assert json.loads(run("check", file, "--json")[1])["doubts"] == []


@pytest.mark.parametrize(
    ("more", "is_doubted"),
    [
        ("", True),
        (", confidence: high", False),
        (", act_on: low", False),
        (", mode: approve", False),
    ],
)
def test_a_rule_that_is_to_act_and_will_ask_is_doubted(
    file: Path, more: str, is_doubted: bool
) -> None:
    action = "action: {quarantine: {level: node, when: now}}"
    defaults = "version: 1\ndefaults: {mode: auto}\n"
    rule = f"{{id: a, title: A, when: 'power_watts > 9', {action}{more}}}"
    file.write_text(f"{defaults}rules:\n- {rule}\n")
    doubts = json.loads(run("check", file, "--json")[1])["doubts"]
    assert ["a person has to approve each time; write `act_on: low`" in one for one in doubts] == [
        True
    ] * is_doubted


def test_no_shipped_rule_is_doubted() -> None:
    assert json.loads(run("check", "--json")[1])["doubts"] == []


def test_what_is_wrong_is_reported_with_its_line(file: Path) -> None:
    file.write_text(RULES.replace("temperature", "temprature", 1), encoding="utf-8")
    code, _, errors = run("check", file)
    assert code != 0
    assert f"{file}:5: rules[0].when: unknown name temprature_celsius" in errors


def test_tests_that_pass_are_counted(file: Path) -> None:
    assert run("test", file)[0] == 0


def test_a_test_that_fails_is_named_with_its_line(file: Path) -> None:
    file.write_text(RULES.replace("140s", "20s"), encoding="utf-8")
    code, _, errors = run("test", file)
    assert code == 1
    assert f"{file}:3: site.hot: fires: nvidia0 fires at 140 s; expected at 20 s" in errors


def test_rules_without_a_test_are_named(file: Path) -> None:
    file.write_text(RULES.partition("  tests:")[0], encoding="utf-8")
    assert "without a test: site.hot" in run("test", file)[2]


# A hub that is not there; at the address of ours may be another's.
NOBODY = "127.0.0.1:1"


def test_rules_are_listed(file: Path) -> None:
    assert run("list", file, "--hub", NOBODY)[1].splitlines() == [
        "ID        SCOPE   SEVERITY  MODE     TITLE",
        "site.hot  device  warning   observe  Too hot",
    ]
    (row,) = json.loads(run("list", file, "--hub", NOBODY, "--json")[1])
    assert row["switched_off"] is None
    assert row["blind"] is None
    assert (row["id"], row["line"], row["tests"]) == ("site.hot", 3, 1)


def test_one_rule_is_shown(file: Path) -> None:
    shown = run("show", "site.hot", file)[1]
    assert 'when            avg(temperature_celsius, "5m") > 90\n' in shown
    assert "look at the fans" in shown
    assert json.loads(run("show", "site.hot", file, "--json")[1])["cooldown_s"] == 1800.0


def test_a_rule_that_is_not_there_is_reported_with_the_nearest(file: Path) -> None:
    code, _, errors = run("show", "site.hto", file)
    assert code != 0
    assert "did you mean site.hot?" in errors


def test_a_pack_that_is_not_shipped_is_reported() -> None:
    code, _, errors = run("list", "-p", "servce")
    assert code != 0
    assert "no pack 'servce'; did you mean service?" in errors


def test_the_schema_is_printed_and_knows_the_file(file: Path) -> None:
    schema = jsonschema_rs.validator_for(json.loads(run("schema")[1]))
    assert schema.is_valid(yaml.safe_load(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("pack", pack_names())
def test_the_shipped_packs_pass_their_own_tests(pack: str) -> None:
    assert run("check", "-p", pack)[0] == 0
    code, _, errors = run("test", "-p", pack)
    assert code == 0, errors
    assert "without a test" not in errors
    schema = jsonschema_rs.validator_for(json.loads(run("schema")[1]))
    written = (PACKS / f"{pack}.yaml").read_text(encoding="utf-8")
    assert schema.is_valid(yaml.safe_load(written))
