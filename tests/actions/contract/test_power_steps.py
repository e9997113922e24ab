"""A site's power switch may take as long as its options say."""

import pytest

from accelwatch.action.contract import Action, ActionContext
from accelwatch_kubernetes import KubernetesAction
from accelwatch_slurm import SlurmAction

SERVER = {"api_server": "https://k8s.example:6443"}


def action_with(plugin: str, timeout_s: float) -> Action:
    options = {"power_timeout_s": timeout_s}
    if plugin == "kubernetes":
        return KubernetesAction(ActionContext(name="c", options={"server": SERVER, **options}))
    return SlurmAction(ActionContext(name="c", options=options))


@pytest.mark.parametrize("timeout_s", [60.0, 600.0])
@pytest.mark.parametrize("plugin", ["slurm", "kubernetes"])
def test_powering_off_is_not_given_up_before_its_command(plugin: str, timeout_s: float) -> None:
    assert action_with(plugin, timeout_s).steps["power_off"].timeout_s > timeout_s
