"""What an administrator writes for a cluster, and what is wrong with it."""

from collections.abc import Mapping

import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.base.errors import ConfigError, OptionsError
from accelwatch.plugins import entry_points as plugins
from accelwatch_kubernetes import KubernetesAction

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_the_action_is_found_by_its_name() -> None:
    assert plugins.load(plugins.ACTIONS, "kubernetes") is KubernetesAction


def made(environ: Mapping[str, str] = IN_A_POD, **options: object) -> KubernetesAction:
    return KubernetesAction(ActionContext(name="c", options=options, environ=environ))


def test_nothing_has_to_be_configured_within_a_cluster() -> None:
    assert made() is not None


def test_elsewhere_the_api_server_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match="not within a cluster; name its API server"):
        made(environ={})
    assert made(environ={}, server={"api_server": "https://k8s.example:6443"}) is not None


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(OptionsError, match="tain: unknown key"):
        made(tain="a.b/c")


@pytest.mark.parametrize("taint", ["quarantine", "a/b/c", "Upper.io/x", "a.io/", "/x", "a.io/-x"])
def test_a_taint_without_a_domain_is_refused(taint: str) -> None:
    with pytest.raises(ConfigError, match="taint: expected DOMAIN/NAME"):
        made(taint=taint)


def test_one_taint_cannot_mean_two_things() -> None:
    with pytest.raises(ConfigError, match="spare_taint: expected another key"):
        made(taint="a.io/x", spare_taint="a.io/x")
