"""What fits together in a hub's files is checked before it starts: with file, line, key and mend."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.cli.servers.config_command import hub_config_check

HUB = """\
targets:
  static: ["n[001-003]:9877", "n[061-063]:9877"]
scrape: {scheme: https}
rules:
  files: [RULES]
remedy:
  ceiling: resume
  actions:
  - name: cluster
    type: slurm
    options: {spares: spare-nodes}
  spares: {nodes: ["n[061-063]"]}
"""
RULES = """\
version: 1
rules:
- id: site.lost
  title: A GPU is lost
  when: state == "lost"
  confidence: high
amend:
- rules: [site.lost]
  mode: auto
  action:
    quarantine: {level: node, when: now}
    spare: {draw: true}
    remedy: [{reboot: {max: 2}}, service]
    verify: [{passive: 10m}]
"""


class Files:
    """A hub's file and its rules, with parts exchanged."""

    def __init__(self, folder: Path) -> None:
        self.hub, self.rules = folder / "hub.yaml", folder / "rules.yaml"

    def check(self, *changes: tuple[str, str]) -> list[str]:
        """The lines of what is wrong, for these replacements in either file."""
        hub, rules = HUB.replace("RULES", str(self.rules)), RULES
        for before, after in changes:
            assert (before in hub) is not (before in rules), before
            hub, rules = hub.replace(before, after), rules.replace(before, after)
        self.hub.write_text(hub)
        self.rules.write_text(rules)
        try:
            hub_config_check(self.hub)
        except ConfigError as error:
            return str(error).splitlines()
        return []

    def line(self, text: str) -> str:
        """Where a text is written: `file:line`."""
        for file in (self.hub, self.rules):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if text in line:
                    return f"{file}:{number}"
        raise AssertionError(text)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_what_fits_is_well(files: Files) -> None:
    assert files.check() == []


def test_spares_need_the_reservation_over_them(files: Files) -> None:
    (line,) = files.check(("    options: {spares: spare-nodes}\n", ""))
    assert line.startswith(f"{files.line('spares: {nodes')}: remedy.spares.nodes: nothing can draw")
    assert "scontrol create reservation=spare-nodes" in line
    assert "options: {spares: spare-nodes}" in line


def test_a_reservation_needs_the_names_of_its_spares(files: Files) -> None:
    lines = files.check(
        ('  spares: {nodes: ["n[061-063]"]}\n', ""), ("    spare: {draw: true}\n", "")
    )
    (line,) = lines
    assert line.startswith(f"{files.line('options: {spares')}: remedy.actions[0].options")
    assert "remedy.spares.nodes names none; write them there" in line


@pytest.mark.parametrize(("options", "mistakes"), [("", 0), ("spare_taint: site.org/spare, ", 1)])
def test_a_cluster_needs_no_spares(files: Files, options: str, mistakes: int) -> None:
    """It can draw them without an option; one that is there says that they are meant."""
    lines = files.check(
        ('  spares: {nodes: ["n[061-063]"]}\n', ""),
        ("    spare: {draw: true}\n", ""),
        ("type: slurm", "type: kubernetes"),
        ("spares: spare-nodes", f"{options}server: {{api_server: 'https://k8s.example:6443'}}"),
        ("    remedy: [{reboot: {max: 2}}, service]\n", ""),
    )
    assert len(lines) == mistakes, lines


def test_a_rule_that_requires_a_spare_needs_one(files: Files) -> None:
    lines = files.check(
        ('  spares: {nodes: ["n[061-063]"]}\n', ""), ("    options: {spares: spare-nodes}\n", "")
    )
    (line,) = lines
    assert line.startswith(f"{files.line('action:')}: action.spare: a spare is requested")
    assert line.endswith("(site.lost)")


@pytest.mark.parametrize(
    ("targets", "strange"),
    [
        ('static: ["n[001-003]:9877", "n[061-062]:9877"]', "n063"),
        ('static: ["n[001-003]:9877"]', "n061, n062, n063"),
        ('static: ["n[001-003]:9877", "n061.example.org:9877", "n[062-063]:9877"]', ""),
        ('static: ["n[001-003]:9877"]\n  files: [/etc/accelwatch/targets.json]', ""),
    ],
)
def test_a_spare_is_one_of_the_targets(files: Files, targets: str, strange: str) -> None:
    lines = files.check(('static: ["n[001-003]:9877", "n[061-063]:9877"]', targets))
    assert bool(lines) is bool(strange)
    for line in lines:
        assert line.startswith(f"{files.line('spares: {nodes')}: remedy.spares.nodes: ")
        assert f"no target is called {strange}, " in line
        assert "remedy.nodes" in line


def test_a_spare_may_be_a_target_by_another_name(files: Files) -> None:
    pairs = "  nodes: {gpu-1: n061, gpu-2: n062, gpu-3: n063}\n"
    lines = files.check(
        ('"n[061-063]:9877"', '"gpu-[1-3]:9877"'),
        ("  spares: {nodes", f"{pairs}  spares: {{nodes"),
    )
    assert lines == []


@pytest.mark.parametrize(
    ("rung", "why"),
    [
        ("power_cycle", "no action can power cycle; a script can, by hooks.power_cycle"),
        ("reset", "no action can reset device; a script can, by hooks.reset_device"),
    ],
)
def test_a_rung_needs_somebody_who_can_do_it(files: Files, rung: str, why: str) -> None:
    (line,) = files.check(("{reboot: {max: 2}}", rung))
    assert line.startswith(
        f"{files.line('action:')}: action.remedy: {rung} can never be done: {why}"
    )
    assert line.endswith("(site.lost)")


def test_a_reboot_needs_the_mark_in_a_field(files: Files) -> None:
    (line,) = files.check(("{spares: spare-nodes}", "{spares: spare-nodes, mark: none}"))
    assert "reboot can never be done: options.mark of slurm is none" in line


def test_a_test_needs_one_that_is_configured(files: Files) -> None:
    (line,) = files.check(("{passive: 10m}", "{active: quick}"))
    assert line.startswith(f"{files.line('action:')}: action.verify: no test can be run: ")
    tests = "{spares: spare-nodes, tests: {quick: [/usr/bin/true]}}"
    assert (
        files.check(("{passive: 10m}", "{active: quick}"), ("{spares: spare-nodes}", tests)) == []
    )


def test_auto_needs_confidence_or_the_word_of_the_site(files: Files) -> None:
    low = ("  confidence: high\n", "")
    (line,) = files.check(low)
    assert line.startswith(f"{files.line('action:')}: mode: auto asks a person all the same")
    assert "write act_on: low beside it" in line
    assert line.endswith("(site.lost)")
    assert files.check(low, ("mode: auto", "mode: auto\n  act_on: low")) == []
    assert files.check(low, ("mode: auto", "mode: approve")) == []


def test_a_rule_that_is_off_needs_nothing(files: Files) -> None:
    assert files.check(("mode: auto", 'mode: "off"'), ("{reboot: {max: 2}}", "power_cycle")) == []


def test_a_link_that_expires_too_soon_says_why(files: Files) -> None:
    (line,) = files.check(("  ceiling: resume\n", "  ceiling: resume\n  links: {expires: 30s}\n"))
    assert line.startswith(f"{files.line('links: {expires')}: remedy.links.expires: ")
    assert "dead after 30 s cannot be used" in line
    assert "write 1m or more" in line
    assert files.check(("  ceiling: resume\n", "  ceiling: resume\n  links: {expires: 1m}\n")) == []


def test_without_actions_nothing_has_to_fit(files: Files) -> None:
    action = "  actions:\n  - name: cluster\n    type: slurm\n    options: {spares: spare-nodes}\n"
    lines = files.check((action, ""), ("ceiling: resume", "ceiling: observe"))
    assert lines == []


TESTS = "options: {spares: spare-nodes, tests: {nccl-pair: [/usr/bin/nccl], quick: [/bin/true]}}"


@pytest.mark.parametrize(
    ("verify", "tests", "lines"),
    [
        ("[{active: quick}]", "[{name: nccl-pair, pair: true}]", []),
        (
            "[{active: quik}]",
            "[{name: nccl-pair}]",
            ["action.verify: no action has a test quik among options.tests; did you mean quick?"],
        ),
        (
            "[{active: quick}]",
            "[{name: nccl-pairs}]",
            [
                "remedy.tests[0].name: no action has a test nccl-pairs among options.tests; "
                "did you mean nccl-pair?"
            ],
        ),
    ],
)
def test_a_test_has_to_be_one_of_the_actions(
    tmp_path: Path, verify: str, tests: str, lines: list[str]
) -> None:
    files = Files(tmp_path)
    found = files.check(
        ("options: {spares: spare-nodes}", TESTS),
        ('spares: {nodes: ["n[061-063]"]}', f'spares: {{nodes: ["n[061-063]"]}}\n  tests: {tests}'),
        ("[{passive: 10m}]", verify),
    )
    assert len(found) == len(lines)
    assert all(line in text for line, text in zip(lines, found, strict=True))


def test_tests_without_an_action_that_can_test_are_named(tmp_path: Path) -> None:
    spares = 'spares: {nodes: ["n[061-063]"]}'
    (line,) = Files(tmp_path).check((spares, f"{spares}\n  tests: [{{name: quick}}]"))
    assert "remedy.tests[0]: no test can be run: options.tests of slurm has none" in line
