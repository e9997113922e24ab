"""What an administrator writes for a cluster, and what is wrong with it."""

import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.base.errors import ConfigError, OptionsError
from accelwatch.plugins import entry_points as plugins
from accelwatch_kubernetes import KubernetesAction


def test_the_action_is_found_by_its_name() -> None:
    assert plugins.load(plugins.ACTIONS, "kubernetes") is KubernetesAction


def test_nothing_has_to_be_configured() -> None:
    assert KubernetesAction(ActionContext(name="c")) is not None


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(OptionsError, match="tain: unknown key"):
        KubernetesAction(ActionContext(name="c", options={"tain": "a.b/c"}))


@pytest.mark.parametrize("taint", ["quarantine", "a/b/c", "Upper.io/x", "a.io/", "/x", "a.io/-x"])
def test_a_taint_without_a_domain_is_refused(taint: str) -> None:
    with pytest.raises(ConfigError, match="taint: expected DOMAIN/NAME"):
        KubernetesAction(ActionContext(name="c", options={"taint": taint}))


def test_one_taint_cannot_mean_two_things() -> None:
    options = {"taint": "a.io/x", "spare_taint": "a.io/x"}
    with pytest.raises(ConfigError, match="spare_taint: expected another key"):
        KubernetesAction(ActionContext(name="c", options=options))
