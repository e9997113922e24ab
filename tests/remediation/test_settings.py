"""The section `remedy` of hub.yaml: what it takes, what it says of mistakes, where it is documented."""

import textwrap
from pathlib import Path

import pytest
import yaml

from accelwatch.action.contract import OPTIONAL, Action
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ConfigError
from accelwatch.config.figures import Figure
from accelwatch.config.layers import leaves
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.plugins.near_misses import near_misses
from accelwatch.remediation.actions import actions_of, configuration_errors
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.settings import ActionSettings, RemedySettings, SpareSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet" / "remedy-settings.md"


def load(tmp_path: Path, text: str) -> RemedySettings:
    file = tmp_path / "hub.yaml"
    file.write_text(text + "\nrules: {packs: [nvidia]}\n")
    return load_settings(file).remedy


def test_nothing_is_done_unless_the_site_says_so() -> None:
    assert HubSettings().remedy.ceiling == "observe"
    assert not HubSettings().remedy.acts


def test_a_whole_section_is_read(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "remedy:\n"
        "  ceiling: resume\n"
        "  actions: [{name: big, type: slurm, options: {commands: /opt/slurm/bin}}]\n"
        "  nodes: {gpu-7: n7}\n"
        "  stop_file: STOP\n"
        "  budget: {share: 2.5%, min_available: 0.95, spacing: 5m}\n"
        "  resume: {delays: [0s, 30s]}\n"
        "  spares: {nodes: 'n[1-3]'}",
    )
    assert settings.acts
    assert settings.actions[0].options == {"commands": "/opt/slurm/bin"}
    assert settings.nodes == {"gpu-7": "n7"}
    assert settings.stop_file == str(tmp_path / "STOP")
    assert (settings.budget.share, settings.budget.min_available) == (0.025, 0.95)
    assert (settings.budget.spacing_s, settings.resume.delays_s) == (300.0, (0.0, 30.0))
    assert settings.spares.names() == ("n1", "n2", "n3")


def test_a_ceiling_alone_does_nothing_and_neither_does_an_action_alone(tmp_path: Path) -> None:
    assert not load(tmp_path, "remedy: {actions: [{type: slurm}]}").acts
    assert load(tmp_path, "remedy: {ceiling: quarantine, actions: [{type: slurm}]}").acts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ceiling: auto", r"hub.yaml:2: remedy.ceiling: 'auto' .*observe, quarantine"),
        ("ceiling: drain", r"hub.yaml:2: remedy.ceiling: .*add it under actions"),
        ("actions: [{name: a}]", r"remedy.actions\[0\].type: .*such as slurm"),
        ("actions: [{type: slurm}, {type: slurm}]", r"another action is called slurm"),
        ("actions: [{type: slurm, also: k}]", r"remedy.actions\[0\].also: no other action is .* k"),
        ("actions: [{type: slurm, also: slurm}]", r"also: no other action is called slurm"),
        (
            "actions: [{type: slurm, also: b}, {name: b, type: slurm, also: slurm}]",
            r"actions\[0\].also: b or slurm is in another pair",
        ),
        (
            "actions: [{type: slurm, also: c}, {name: b, type: slurm, also: c}, {name: c, type: slurm}]",
            r"actions\[1\].also: c or b is in another pair",
        ),
        ("nodes: {a: n1, b: n1}", r"remedy.nodes: n1 stands for more than one node, a among them"),
        ("nodes: {a: ''}", r"remedy.nodes: a name is empty"),
        ("nodes: {'': n1}", r"remedy.nodes: a name is empty"),
        ("nodes: {'a[1-3]': 'n[1-2]'}", r"remedy.nodes: a\[1-3\] stands for 3 and n\[1-2\] for 2"),
        ("nodes: {'a[2-1]': 'n[1-2]'}", r"remedy.nodes: .*backwards"),
        ("nodes: {a1: n1, 'a[1-2]': 'n[2-3]'}", r"remedy.nodes: a1 stands on the left more than"),
        ("nodes: {'a[1-2]': 'n[1-2]', b: n2}", r"remedy.nodes: n2 stands for more than one node"),
        ("domains: [rack, rack]", r"remedy.domains: every label once"),
        ("domains: ['']", r"remedy.domains: every label once"),
        ("spares: {near: [a, a]}", r"remedy.spares.near: every label once"),
        ("spares: {nodes: 'n[2-1]'}", r"remedy.spares.nodes: .*backwards"),
        ("budget: {share: 20%}", r"remedy.budget.share: .*no room"),
        ("budget: {share: 5}", r"5.* is out of range; expected a share.*from 0% to 100%"),
        (
            "budget: {share: -5%}",
            r"'-5%' is not a valid share; expected a share such as 5% or 0.05",
        ),
        ("budget: {share: nan}", r"'nan' is not a valid share"),
        ("budget: {most: 0}", r"remedy.budget.most: .*a number from 1"),
        ("budget: {per_day: 1}", r"remedy.budget.per_day"),
        ("resume: {delays: []}", r"remedy.resume.delays: one delay"),
        ("stop_file: ''", r"remedy.stop_file"),
        ("links: {sinks: [oncall]}", r"hub.yaml:2: remedy.links.sinks: no sink is called 'oncall'"),
        ("links: {sinks: [oncall]}", r"remedy.links.sinks: links need alerts.external_url"),
        ("links: {expires: 10s}", r"remedy.links.expires"),
        ("tests: [{pair: true}]", r"hub.yaml:2: remedy.tests\[0\].name: the name of a test"),
        ("tests: [{name: a}, {name: a}]", r"remedy.tests\[0\].name: another entry is called a"),
        ("tests: [{name: a, share: 90%}]", r"remedy.tests\[0\].share: .*such as every: 7d"),
        ("tests: [{name: a, every: 5m}]", r"remedy.tests\[0\].every: .*write 1h or more"),
        ("tests: [{name: a, floors: {H100: 0 GB/s}}]", r"remedy.tests\[0\].floors: a floor of 0"),
        (
            "tests: [{name: a, floors: {'': 3 GB/s}}]",
            r"remedy.tests\[0\].floors: the name of a model",
        ),
        ("tests: [{name: a, floors: {H100: 3 Gb}}]", r"'3 Gb' is not a valid figure: .*46.8 GB/s"),
        ("tests: [{name: a, floors: {H100: 3 GB/h}}]", r"'GB/h' is not a unit; .*46.8 GB/s"),
        ("tests: [{name: a, floors: {H100: -3}}]", r"'-3' is not a valid figure"),
        (
            "tests: [{name: a, floors: {H100: 46.8e9}}]",
            r"hub.yaml:2: remedy.tests\[0\].floors.*'46.8e9' has no unit; .* write 46.8 GB/s",
        ),
        ("tests: [{name: a, floors: {H100: 3}}]", r"'3' has no unit; .*3 bytes_per_second"),
        ("tests: [{name: a, floor: 3}]", r"remedy.tests\[0\].floor: .*floors"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, f"remedy:\n  {text}")


@pytest.mark.parametrize(
    ("written", "figure"),
    [
        ("46.8 GB/s", Figure(46.8e9, "bytes_per_second")),
        ("400Gbit/s", Figure(50e9, "bytes_per_second")),
        ("46.8e9 bytes_per_second", Figure(46.8e9, "bytes_per_second")),
        ("1e+3 tokens_per_second", Figure(1000.0, "tokens_per_second")),
    ],
)
def test_a_floor_is_a_number_with_its_unit(tmp_path: Path, written: str, figure: Figure) -> None:
    text = f"remedy: {{tests: [{{name: pair, pair: true, floors: {{H100: {written}}}}}]}}"
    (test,) = load(tmp_path, text).tests
    assert (test.pair, test.has_floor, test.floors) == (True, True, {"H100": figure})


def test_the_example_of_the_page_on_verification_is_right(tmp_path: Path) -> None:
    page = PAGE.with_name("verification.md").read_text("utf-8")
    (test,) = load(tmp_path, page.split("```yaml")[2].partition("```")[0]).tests
    assert test.floors == {"NVIDIA H100 80GB HBM3": Figure(350e9, "bytes_per_second")}
    assert (test.name, test.share, test.every_s) == ("nccl-pair", 0.9, 7 * 86_400.0)
    assert all(f"`remedy.tests[].{key}`" in page for key in leaves(ActiveTestSettings))


def test_host_ranges_pair_names_in_order(tmp_path: Path) -> None:
    text = "remedy: {nodes: {'gpu[08-10]': 'i-gpu[1-3]', '[::1]:9400': n4}}"
    assert load(tmp_path, text).nodes == {
        "gpu08": "i-gpu1",
        "gpu09": "i-gpu2",
        "gpu10": "i-gpu3",
        "[::1]:9400": "n4",
    }


def test_two_actions_are_one_where_one_names_the_other() -> None:
    pair = (
        ActionSettings(name="slurm", type="slurm", also="cluster"),
        ActionSettings(name="cluster", type="slurm"),
        ActionSettings(name="alone", type="slurm"),
    )
    actions = actions_of(RemedySettings(actions=pair), ManualClock())
    assert list(actions) == ["slurm", "alone"]
    assert {"drain", "cluster/drain"} <= set(actions["slurm"].steps)
    assert near_misses(actions["slurm"], Action, OPTIONAL) == []


def test_an_action_that_quarantines_nothing_is_in_no_pair() -> None:
    program = {"argv": ["/bin/true"]}
    hook = {"observe": program, "survey": program, "hooks": {"power_cycle": program}}
    pair = (
        ActionSettings(name="slurm", type="slurm", also="site"),
        ActionSettings(name="site", type="script", options=hook),
    )
    ((key, text),) = configuration_errors(RemedySettings(actions=pair))
    assert key == "actions[0].also"
    assert text == "also: site cannot do what both have to: quarantine, release"


def test_links_are_for_existing_sinks_at_an_address_that_people_reach(tmp_path: Path) -> None:
    text = """
        alerts:
          external_url: https://hub.example.org
          sinks: [{name: oncall, type: webhook, options: {url: "https://hooks.example.org/x"}}]
        remedy: {links: {sinks: [oncall], expires: 10m}}
    """
    links = load(tmp_path, textwrap.dedent(text)).links
    assert (links.sinks, links.expires_s) == (("oncall",), 600.0)
    with pytest.raises(ConfigError, match="there are oncall"):
        load(tmp_path, textwrap.dedent(text).replace("sinks: [oncall]", "sinks: [oncal]"))


def test_shares_that_just_fit_together_are_taken(tmp_path: Path) -> None:
    settings = load(tmp_path, "remedy: {budget: {share: 10%, min_available: 90%}}")
    assert settings.budget.share == 0.1


def test_the_documentation_names_every_setting() -> None:
    text = PAGE.read_text("utf-8")
    missing = [f"remedy.{key}" for key in leaves(RemedySettings) if f"`remedy.{key}`" not in text]
    assert missing == []
    example = text.split("```yaml")[1].partition("```")[0]
    assert set(yaml.safe_load(example)["remedy"]) <= {
        key.partition(".")[0] for key in leaves(RemedySettings)
    }


def test_the_example_of_the_documentation_is_right(tmp_path: Path) -> None:
    example = PAGE.read_text("utf-8").split("```yaml")[1].partition("```")[0]
    settings = load(tmp_path, example)
    assert settings.domains == ("rack", "leaf")
    assert settings.spares == SpareSettings(nodes=("n[060-063]",))
