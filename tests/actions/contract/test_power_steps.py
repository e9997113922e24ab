"""A site's power switch may take as long as its options say."""

import pytest

from accelwatch.action.contract import Action, ActionContext
from accelwatch.action.power_switch import STATE_TIMEOUT_S
from accelwatch_backendai import BackendAiAction
from accelwatch_kubernetes import KubernetesAction
from accelwatch_slurm import SlurmAction

MANAGER = {"url": "https://m.example", "access_key": "AK", "secret_key_file": "/k"}
SERVER = {"api_server": "https://k8s.example:6443"}


def action_with(plugin: str, timeout_s: float) -> Action:
    options = {"power_timeout_s": timeout_s}
    if plugin == "backendai":
        return BackendAiAction(ActionContext(name="c", options={"server": MANAGER, **options}))
    if plugin == "kubernetes":
        return KubernetesAction(ActionContext(name="c", options={"server": SERVER, **options}))
    return SlurmAction(ActionContext(name="c", options=options))


@pytest.mark.parametrize("timeout_s", [60.0, 600.0])
@pytest.mark.parametrize("plugin", ["slurm", "kubernetes", "backendai"])
def test_powering_off_is_not_given_up_before_its_command(plugin: str, timeout_s: float) -> None:
    assert action_with(plugin, timeout_s).steps["power_off"].timeout_s > timeout_s


@pytest.mark.parametrize(
    ("plugin", "kind"),
    [
        # Of Backend.AI's manager, which asks a lost agent for 60 s before it answers.
        ("backendai", "end_session"),
        ("kubernetes", "out_of_service"),
        ("kubernetes", "delete_pod"),
    ],
)
def test_a_step_that_reads_the_power_first_has_the_time_for_both(plugin: str, kind: str) -> None:
    request_s = 60.0 if plugin == "backendai" else 15.0
    steps = action_with(plugin, 600.0).steps
    assert steps[kind].timeout_s > STATE_TIMEOUT_S + request_s
