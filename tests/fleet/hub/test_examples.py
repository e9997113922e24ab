"""The shipped configuration and targets are read as they are."""

from pathlib import Path

from accelwatch.fleet.hub.model import load_settings
from accelwatch.fleet.targets.files import read_targets
from accelwatch.fleet.targets.target import targets_of

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "hub"


def test_the_example_configuration_is_read() -> None:
    settings = load_settings(EXAMPLES / "hub.yaml")
    assert len(targets_of(settings.targets.static, {}, settings.scrape.scheme)) == 63


def test_the_example_targets_are_read() -> None:
    assert len(read_targets(EXAMPLES / "targets.json")) == 63
