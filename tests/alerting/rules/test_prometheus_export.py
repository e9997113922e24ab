"""Rules as alerting rules of Prometheus: promtool takes them, and they fire for whom our engine does."""

import contextlib
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given, settings

from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.prometheus.alerting_rules import AlertingRule, Untranslated, exported
from accelwatch.alerting.rules.prometheus.rule_file import rule_file
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.testing.rule_tests import Play, read_case
from accelwatch.base.errors import ExpressionError
from accelwatch.expr.promql import Assumed, PromqlError, condition
from accelwatch.expr.rule import compile_rule
from support.rules.promtool_worlds import write_tests
from support.rules.rule_worlds import conditions

ITEMS = Path(__file__).with_name("promql_items.yaml")
# An event that was before its counter began is none that Prometheus can tell from a new one.
UNTRANSLATED = {
    "nvidia.lost_again: fires on the second event",
    "nvidia.xid.repeated: fires on the third day",
}

# Of a rule's own tests the first of each kind.
KINDS = ("fires", "does not fire on missing data")


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (.ci/run installs it)")
    return found


@pytest.fixture(scope="module")
def packs() -> Mapping[str, Rule]:
    return load(pack_file(name) for name in pack_names()).rules


def run(promtool: str, *arguments: str, folder: Path) -> None:
    done = subprocess.run(
        [promtool, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, "\n".join(_failed(done.stdout + done.stderr))


def _failed(output: str) -> Sequence[str]:
    return [line for line in output.splitlines() if "SUCCESS" not in line][-60:]


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "rules.yaml"
    path.write_text(text)
    return path


def one(folder: Path, rule: str, scrape_s: float = 60.0) -> AlertingRule | Untranslated:
    text = f"version: 1\nrules:\n- id: a\n  title: A\n{rule}"
    rules = load([written(folder, text)]).rules
    (made,) = exported(rules, Assumed(scrape_s=scrape_s))
    return made


def query(folder: Path, when: str, more: str = "", scrape_s: float = 60.0) -> str:
    made = one(folder, f"  when: '{when}'\n{more}", scrape_s)
    assert isinstance(made, AlertingRule), made
    return made.expr


def refused(folder: Path, when: str, more: str = "", scrape_s: float = 60.0) -> str:
    made = one(folder, f"  when: '{when}'\n{more}", scrape_s)
    assert isinstance(made, Untranslated), made
    return made.reason


def test_promtool_takes_every_rule_of_all_packs(
    promtool: str, packs: Mapping[str, Rule], tmp_path: Path
) -> None:
    made = list(exported(packs, Assumed()))
    exported_rules = [rule for rule in made if isinstance(rule, AlertingRule)]
    path = written(tmp_path, rule_file(made))
    run(promtool, "check", "rules", str(path), folder=tmp_path)
    # What a hub's detector finds is no series.
    of_series = [rule for rule in packs.values() if not rule.needs_detector]
    assert len(exported_rules) > 0.75 * len(of_series)
    assert path.read_text().count("  - alert: ") == len(exported_rules)
    assert path.read_text().count(" is not here: ") == len(packs) - len(exported_rules)


def test_each_item_of_the_language_fires_for_whom_our_engine_does(
    promtool: str, tmp_path: Path
) -> None:
    rules = load([ITEMS]).rules
    files = [
        str(path.name)
        for rule in rules.values()
        for path in write_tests(tmp_path, rule, _plays(rule), slack_s=60.0)
    ]
    assert len(files) == len(rules), "some items cannot be said"
    run(promtool, "test", "rules", *files, folder=tmp_path)


def test_packs_fire_for_whom_our_engine_does(
    promtool: str, packs: Mapping[str, Rule], tmp_path: Path
) -> None:
    """Of rules that differ in names and numbers only, one."""
    chosen: dict[str, Rule] = {}
    partly: set[str] = set()
    for made in exported(packs, Assumed()):
        if isinstance(made, AlertingRule):
            chosen.setdefault(_shape(made.expr), packs[made.alert])
            if any(note.startswith("left out") for note in made.notes):
                partly.add(made.alert)
    files: list[str] = []
    for rule in chosen.values():
        plays = [
            (name, play)
            for name, play in _plays(rule)
            if f"{rule.id}: {name}" not in UNTRANSLATED
            and not (
                rule.id in partly and play.reported_events and name.startswith(("fires", "clears"))
            )
        ]
        files += [
            path.name
            for path in write_tests(tmp_path, rule, _first(plays), 150.0, evaluated_s=60.0)
        ]
    assert len(files) >= len(chosen) > 30
    run(promtool, "test", "rules", *files, folder=tmp_path)


def _plays(rule: Rule) -> list[tuple[str, Play]]:
    return [(case.name, read_case(case)) for case in rule.tests]


def _first(plays: list[tuple[str, Play]]) -> list[tuple[str, Play]]:
    kinds = [[one for one in plays if one[0].startswith(kind)][:1] for kind in KINDS]
    return [one for kind in kinds for one in kind]


def _shape(expr: str) -> str:
    names = re.sub(r'accel_\w+|"[^"]*"|[0-9.]+[a-z]*', "_", expr)
    return re.sub(r"max without \([^)]*\)|[()\s]", "", names)


def test_a_selection_becomes_matchers_of_every_series(tmp_path: Path) -> None:
    select = "  select: {vendor: [amd, intel], labels: {pool: train}}\n"
    text = query(tmp_path, "power_watts > memory_used_bytes", select)
    matchers = '{vendor=~"amd|intel",pool="train"}'
    assert text.split() == [
        f"accel_power_watts{matchers}",
        ">",
        f"accel_memory_used_bytes{matchers}",
    ]


def test_a_vendor_that_is_not_meant_is_no_matcher_that_means_it(tmp_path: Path) -> None:
    text = query(tmp_path, "power_watts > 5", "  select: vendor != 'amd'\n")
    assert text == 'accel_power_watts > 5 and accel_device_up{vendor!="amd",vendor!=""}'


def test_windows_need_half_of_their_samples(tmp_path: Path) -> None:
    often = query(tmp_path, 'avg(power_watts, "5m") > 5', scrape_s=15.0)
    assert "count_over_time(accel_power_watts[5m]) >= 10" in often
    assert "count_over_time" not in query(tmp_path, 'avg(power_watts, "1m") > 5', scrape_s=60.0)


@pytest.mark.parametrize(
    ("when", "scrape_s", "reason"),
    [
        ('rate(energy_joules_total, "1m") > 5', 60.0, "a window of 1m is too short"),
        ('avg(power_watts, "30s") > 5', 60.0, "a window of 30s is too short"),
        ("age(power_watts) > 5", 60.0, "how long ago a series had its last value"),
        ("version_lt(driver_version, \"5\")", 60.0, "version_lt cannot be expressed"),
        ("model == serial", 60.0, "a comparison of two texts"),
        ('state == "missing"', 60.0, "known to a hub, not to its agent"),
        ('event("nfs")', 60.0, 'events of the kind "nfs"'),
        ('event("xid", text == "x")', 60.0, "agents do not expose text of an event"),
        ('event("xid", code > 5)', 60.0, "other than ==, !=, in and not in"),
        ('event("xid", not trusted)', 60.0, "agents count no such events"),
        ('peers_affected("b", by="rack") > 2', 60.0, "whether the rule b fires"),
        ("1 > 2", 60.0, "never true"),
        ("power_watts / 0 > 2", 60.0, "a division by zero"),
        ("index > 2", 60.0, "agents do not expose index"),
        ('boot_id == "5"', 60.0, "agents do not expose boot_id"),
        ('power_watts > peer_median(3, by="rack")', 60.0, "the same for all peers"),
        ("node.count(power_watts > 5 or age(power_watts) > 9) < 3", 60.0, "left out"),
        ("missing(power_watts > 5 or age(power_watts) > 9)", 60.0, "left out"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_has_its_reason(
    tmp_path: Path, when: str, scrape_s: float, reason: str
) -> None:
    assert reason in refused(tmp_path, when, scrape_s=scrape_s)


def test_a_rule_that_is_off_is_no_alert(tmp_path: Path) -> None:
    assert refused(tmp_path, "power_watts > 5", "  mode: off\n") == "its mode is off"


def test_of_several_what_cannot_be_expressed_is_left_out_and_reported(tmp_path: Path) -> None:
    made = one(tmp_path, "  when: 'power_watts > 5 or age(power_watts) > 9'\n")
    assert isinstance(made, AlertingRule)
    assert made.expr == "accel_power_watts > 5"
    assert any("left out, as if it were not known: age(power_watts) > 9" in n for n in made.notes)
    # What is not known never makes its opposite true.
    reason = refused(tmp_path, "not (power_watts > 5 or age(power_watts) > 9)")
    assert "age(power_watts) > 9" in reason


def test_whatever_can_be_expressed_is_taken(promtool: str, tmp_path: Path) -> None:
    """Rules that are drawn are said so that promtool takes them, or are refused with a reason."""
    remarks: list[str] = []

    @settings(max_examples=40, deadline=None, database=None, phases=[Phase.generate])
    @given(conditions)
    def draw(text: str) -> None:
        try:
            tree = compile_rule(text).tree
        except ExpressionError:
            return
        with contextlib.suppress(PromqlError):
            remarks.append(condition("device", None, [(text, tree)], Assumed(scrape_s=10.0)).text)

    draw()
    rules = [{"alert": f"a{at}", "expr": text} for at, text in enumerate(remarks)]
    assert rules
    path = tmp_path / "drawn.yml"
    path.write_bytes(msgspec.json.encode({"groups": [{"name": "drawn", "rules": rules}]}))
    run(promtool, "check", "rules", str(path), folder=tmp_path)


def test_what_differs_and_what_is_needed_is_reported(tmp_path: Path) -> None:
    more = "  confirm: utilization_ratio > 0.5\n  clear: power_watts < 3\n"
    made = one(tmp_path, f'  when: link_errors_total.nvlink["0"].crc > 5\n{more}')
    assert isinstance(made, AlertingRule)
    exported_rules = "\n".join(made.notes)
    assert "confirm must hold" in exported_rules
    assert "clear is not exported" in exported_rules
    assert "the opt-in group links" in exported_rules


def test_the_file_has_times_labels_and_annotations(tmp_path: Path) -> None:
    more = (
        "  for: 90s\n  keep: 1h\n  severity: critical\n"
        "  what_to_do: look at {{ $labels.x }}\n  runbook: https://wiki/x\n  source: us\n"
    )
    made = one(tmp_path, f"  when: power_watts > 5\n{more}")
    text = rule_file([made])
    for line in (
        '  - alert: "a"\n    expr: |-\n      accel_power_watts > 5\n',
        "    for: 90s\n    keep_firing_for: 1h\n",
        '      severity: "critical"\n      rule: "a"\n      scope: "device"\n',
        '      summary: "A"\n',
        '      description: "look at {{ \\"{{\\" }} $labels.x }}"\n',
        '      runbook_url: "https://wiki/x"\n      source: "us"\n',
    ):
        assert line in text
    assert "keep_firing_for" not in rule_file([made], keep=False)


def test_nothing_is_an_empty_file_that_loads(promtool: str, tmp_path: Path) -> None:
    path = written(tmp_path, rule_file([]))
    run(promtool, "check", "rules", str(path), folder=tmp_path)
