"""Events of a rule's own tests: one that can match nothing is reported with line, key and the mend."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.case_events import incomplete_events
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.testing.rule_tests import run
from accelwatch.base.errors import ConfigError

RULE = """\
version: 1
rules:
- id: test.event
  title: An event
  scope: node
  when: '%s'
  tests:
  - name: case
    given:
    - node: n1
      events:
      - %s
    expect: {fires: {n1: 30s}}
"""
XID = 'event("xid", code == 79)'
AT = "rules[0].tests[0].given[0].events"


def rule_file(folder: Path, event: str, when: str = XID) -> Path:
    file = folder / "rules.yaml"
    file.write_text(RULE % (when, event), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        ("{code: boot}", f"{AT}[0].code: no rule matches an event of a boot, which is read from"),
        ("{at: 30s, code: boot}", "write the uptime of the node: values: {host_uptime_seconds:"),
        ("{code: xid_79}", f"{AT}[0].at: is missing; write at: 30s"),
        ("{at: 30s}", f"{AT}[0].code: is missing; write for example code: xid_79"),
        ("{at: soon, code: xid_79}", f"{AT}[0].at: 'soon' is not a valid duration"),
        ("{at: 30s, age: old, code: xid_79}", f"{AT}[0].age: 'old' is not a valid duration"),
        ("{at: 30s, code: xid_79, categry: bus}", f"{AT}[0].categry: unknown key; did you mean"),
        ("{at: 30s, code: xid_79, category: y}", f"{AT}[0].category: is one of application"),
        ("{at: 30s, code: xid}", f"{AT}[0].code: 'xid' has no number; write for example xid_79"),
        ("{at: 30s, code: Xid 79}", f"{AT}[0].code: no kind of event has the code 'Xid 79'"),
        ("{at: 30s, code: nvidja_lost}", "codes begin with xid, sxid, nvidia"),
        ("{at: 30s, code: habanalab}", "did you mean habanalabs?"),
        ("xid_79", f"{AT}[0]: a mapping is expected, such as {{at: 30s, code: xid_79}}"),
    ],
)
def test_an_event_that_can_match_nothing_is_refused_with_line_and_key(
    tmp_path: Path, event: str, complaint: str
) -> None:
    file = rule_file(tmp_path, event)
    with pytest.raises(ConfigError) as error:
        load([file])
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{file}:12: ")
    assert complaint in line


def test_events_that_are_no_list_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    text = RULE % (XID, "x")
    file.write_text(text.replace("events:\n      - x", "events: xid_79"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"rules.yaml:11: .*\.events: a list is expected"):
        load([file])


def test_a_code_of_no_kind_is_an_event_of_a_rule_that_asks_for_any(tmp_path: Path) -> None:
    file = rule_file(tmp_path, "{at: 30s, code: site_door}", 'event("any", code == "site_door")')
    (rule,) = load([file]).rules.values()
    assert [result.failures for result in run(rule)] == [()]


def test_a_rule_that_is_refused_says_nothing_of_its_events(tmp_path: Path) -> None:
    file = rule_file(tmp_path, "{at: 30s, code: site_door}", 'event("any", code ==')
    with pytest.raises(ConfigError) as error:
        load([file])
    assert "rules[0].when" in str(error.value)
    assert "site_door" not in str(error.value)


BUS = 'event("kernel", category == "bus")'
LOUD = 'event("kernel", severity == "critical")'
LINK = 'event("kernel", matches(text, "link"))'


@pytest.mark.parametrize(
    ("when", "event", "lacking"),
    [
        (
            BUS,
            "{at: 30s, code: edac}",
            "edac matches nothing without category, which the rule reads",
        ),
        (LOUD, "{at: 30s, code: edac}", "edac matches nothing without category"),
        (LINK, "{at: 30s, code: edac}", "edac matches nothing without text"),
        (BUS, "{at: 30s, code: edac, category: bus}", ""),
        # It gives what the rule reads, and is none of its events.
        (BUS, "{at: 30s, code: edac, category: power}", ""),
        (BUS, "{at: 30s, code: xid_79}", ""),
        # Whatever its category, its code does not fit.
        ('event("kernel", code == "oom", category == "bus")', "{at: 30s, code: edac}", ""),
        # Another part of the rule matches it.
        (f'{BUS} or event("kernel", code == "edac")', "{at: 30s, code: edac}", ""),
        # User space may write such a record: that is why it does not match.
        (BUS, "{at: 30s, code: edac, trusted: false}", ""),
    ],
)
def test_an_event_without_what_the_rule_reads_is_doubted(
    tmp_path: Path, when: str, event: str, lacking: str
) -> None:
    (rule,) = load([rule_file(tmp_path, event, when)]).rules.values()
    doubts = list(incomplete_events(rule))
    if not lacking:
        assert doubts == []
        return
    (doubt,) = doubts
    assert doubt.startswith("tests['case'].given[0].events[0]: ")
    assert lacking in doubt
