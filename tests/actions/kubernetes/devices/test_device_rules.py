"""Which DeviceTaintRule takes a device out, and which one is ours to delete."""

import json
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import DeviceKey, IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    StartedStep,
    Step,
)
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.devices.claims import claims_of, users
from accelwatch_kubernetes.devices.drivers import PublishedDevice, published
from accelwatch_kubernetes.devices.observed import with_quarantined_devices
from accelwatch_kubernetes.devices.taint_rule import (
    DeviceHold,
    TaintRule,
    new_rule,
    rule_name,
    rules_of,
)
from accelwatch_kubernetes.objects.resource_slice import slices_of
from accelwatch_kubernetes.proposals.devices import propose_back, propose_out
from accelwatch_kubernetes.recovering import recovered
from accelwatch_kubernetes.settings.options import DeviceEffect, KubernetesOptions
from accelwatch_kubernetes.steps import TAINT, TAINT_DEVICE, UNTAINT, UNTAINT_DEVICE
from accelwatch_kubernetes.tables import effects_of
from actions.kubernetes.test_marks import quarantined
from support.kubernetes.devices import (
    GPU_0,
    GPU_1,
    NVIDIA,
    OPTIONS,
    USUAL,
    context,
    device,
    listed,
    options,
    resource_slice,
    rule,
)
from support.kubernetes.nodes import Object, intent, node

RELEASE = IntentKind.RELEASE
FIRST = PublishedDevice(NVIDIA, "n1", "gpu-0")
SELECTOR = {"driver": NVIDIA, "pool": "n1", "device": "gpu-0"}
HOLD = DeviceHold(
    node="n1",
    device=GPU_0.id,
    incident="inc-1",
    token=3,
    by="accelwatch",
    since=1000.0,
    reason="Xid",
)


def ours(effect: str = "NoSchedule", counted: str = "", **more: Any) -> Object:
    """Our rule for the first device."""
    hold = msgspec.to_builtins(msgspec.structs.replace(HOLD, **more))
    return rule(rule_name(FIRST, "accelwatch"), hold, SELECTOR, effect, counted)


def refused(proposal: Proposal) -> Refusal:
    assert isinstance(proposal, Refusal), proposal
    return proposal


def step_of(proposal: Proposal) -> Step:
    assert isinstance(proposal, Step), proposal
    return proposal


def out(*devices: DeviceKey, **more: Any) -> Any:
    return intent(devices=devices or (GPU_0,), **more)


def test_a_device_is_tainted_by_driver_pool_and_device() -> None:
    step = step_of(propose_out(out(), context()))
    assert step.kind == TAINT_DEVICE
    chosen = {key: step.arguments[key] for key in ("driver", "pool", "device", "effect", "version")}
    assert chosen == {**SELECTOR, "effect": "NoSchedule", "version": "v1"}
    assert step.text == (
        "taint gpu-0 of gpu.nvidia.com of n1 with accelwatch.io/quarantine:NoSchedule"
    )


def test_the_rule_says_whose_it_is_and_never_when_the_taint_was_added() -> None:
    made = new_rule(FIRST, HOLD, OPTIONS, "v1")
    assert made["spec"] == {
        "deviceSelector": SELECTOR,
        "taint": {"key": "accelwatch.io/quarantine", "effect": "NoSchedule"},
    }
    metadata = made["metadata"]
    assert isinstance(metadata, dict)
    assert json.loads(metadata["annotations"]["accelwatch.io/hold"])["incident"] == "inc-1"
    assert metadata["labels"]["app.kubernetes.io/managed-by"] == "accelwatch"


@pytest.mark.parametrize("missing", ["driver", "pool", "device"])
def test_trap_05_no_rule_without_driver_pool_and_device(missing: str) -> None:
    chosen = PublishedDevice(**{**SELECTOR, missing: ""})
    with pytest.raises(ValueError, match="would taint other devices"):
        new_rule(chosen, HOLD, OPTIONS, "v1")


@pytest.mark.parametrize(
    "selector", [None, {}, {"driver": NVIDIA}, {"driver": NVIDIA, "pool": "n1"}]
)
def test_trap_05_a_rule_of_others_for_all_devices_is_none_of_ours(selector: Any) -> None:
    (read,) = rules_of(listed(rule("x", None, selector)))
    assert read.device is None
    assert read.hold is None
    assert isinstance(propose_back(intent(RELEASE), context(rule("x", None, selector))), Achieved)


def test_a_device_that_is_tainted_is_out() -> None:
    assert isinstance(propose_out(out(), context(ours())), Achieved)
    second = step_of(propose_out(out(GPU_0, GPU_1), context(ours())))
    assert second.arguments["device"] == "gpu-1"


def test_a_device_that_its_driver_publishes_no_more_stays_out() -> None:
    gone = context(ours(), slices=[resource_slice(USUAL[1])])
    assert isinstance(propose_out(out(), gone), Achieved)
    dry_run = context(ours("None"), slices=[resource_slice(USUAL[1])])
    assert refused(propose_out(out(), dry_run)).kind is RefusalKind.IMPOSSIBLE


def test_a_node_that_we_hold_as_a_whole_needs_no_rule() -> None:
    held = quarantined(node())
    assert isinstance(propose_out(out(), context(document=held)), Achieved)


def test_a_node_of_somebody_else_is_left_alone() -> None:
    cordoned = node(cordoned=True)
    assert refused(propose_out(out(), context(document=cordoned))).kind is RefusalKind.FOREIGN


def test_beside_somebody_else_our_devices_stay_ours() -> None:
    shown = context(ours(), document=node(cordoned=True))
    assert isinstance(propose_out(out(), shown), Achieved)
    assert refused(propose_out(intent(), shown)).kind is RefusalKind.NOT_ALLOWED
    assert step_of(propose_back(intent(RELEASE), shown)).kind == UNTAINT_DEVICE


def test_the_whole_node_is_tainted_where_no_device_is_named() -> None:
    assert step_of(propose_out(intent(), context(ours()))).kind == TAINT


@pytest.mark.parametrize(
    ("shown", "kind", "words"),
    [
        ({"configured": KubernetesOptions()}, RefusalKind.IMPOSSIBLE, "set devices"),
        ({"version": ""}, RefusalKind.IMPOSSIBLE, "serves no DeviceTaintRule"),
        ({"slices": []}, RefusalKind.IMPOSSIBLE, "has no DRA driver: of a device plug-in only the"),
        ({"slices": [resource_slice(USUAL[1])]}, RefusalKind.IMPOSSIBLE, "has GPU-aaaa-0, 165, 00"),
    ],
)
def test_what_cannot_be_says_the_way_that_remains(
    shown: dict[str, Any], kind: RefusalKind, words: str
) -> None:
    refusal = refused(propose_out(out(), context(**shown)))
    assert refusal.kind is kind
    assert words in refusal.text
    assert "quarantine: {level: node}" in refusal.text


def test_an_incident_without_a_device_takes_nothing_out() -> None:
    assert refused(propose_out(out(DeviceKey("")), context())).kind is RefusalKind.IMPOSSIBLE


@pytest.mark.parametrize(
    ("version", "allowed"), [("v1", True), ("v1beta2", False), ("v1alpha3", False)]
)
def test_trap_16_noexecute_only_where_the_server_heeds_tolerations(
    version: str, allowed: bool
) -> None:
    evicting = context(version=version, configured=options(DeviceEffect.NO_EXECUTE))
    proposal = propose_out(out(), evicting)
    if allowed:
        assert step_of(proposal).arguments["effect"] == "NoExecute"
    else:
        assert refused(proposal).kind is RefusalKind.NOT_ALLOWED
    assert step_of(propose_out(out(), context(version=version))).arguments["effect"] == "NoSchedule"


def test_effect_none_says_whom_it_would_evict_and_takes_nothing_out() -> None:
    configured = options(DeviceEffect.NONE)
    assert step_of(propose_out(out(), context(configured=configured))).arguments["effect"] == "None"
    waiting = propose_out(out(), context(ours("None"), configured=configured))
    assert "has not counted yet" in refused(waiting).text
    counted = ours("None", "3 pods would be evicted in 2 namespaces.")
    refusal = refused(propose_out(out(), context(counted, configured=configured)))
    assert (refusal.kind, "3 pods would be evicted" in refusal.text) == (
        RefusalKind.NOT_ALLOWED,
        True,
    )


def test_a_rule_of_a_dry_run_is_changed_once_it_is_meant() -> None:
    step = step_of(propose_out(out(), context(ours("None"))))
    assert step.kind == TAINT_DEVICE
    assert step.precondition["uid"] == ours()["metadata"]["uid"]


def test_release_deletes_our_rules_by_their_uid_and_then_frees_the_node() -> None:
    step = step_of(propose_back(intent(RELEASE), context(ours())))
    assert (step.kind, step.precondition) == (UNTAINT_DEVICE, {"uid": ours()["metadata"]["uid"]})
    both = context(ours(), document=quarantined(node()))
    assert step_of(propose_back(intent(RELEASE), both)).kind == UNTAINT_DEVICE
    assert (
        step_of(propose_back(intent(RELEASE), context(document=quarantined(node())))).kind
        == UNTAINT
    )
    assert isinstance(propose_back(intent(RELEASE), context()), Achieved)


@pytest.mark.parametrize("more", [{"by": "other-hub"}, {"node": "n2"}, {"incident": "inc-2"}])
def test_release_deletes_no_rule_of_another(more: dict[str, str]) -> None:
    assert isinstance(propose_back(intent(RELEASE), context(ours(**more))), Achieved)


def test_a_rule_of_a_newer_engine_is_left_alone() -> None:
    refusal = refused(propose_back(intent(RELEASE), context(ours(token=4))))
    assert refusal.kind is RefusalKind.FOREIGN


def test_trap_17_a_taint_of_the_driver_is_reported_and_never_touched() -> None:
    own = {"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}
    shown = resource_slice(device("gpu-0", [own], uuid=GPU_0.id))
    step = step_of(propose_back(intent(RELEASE), context(ours(), slices=[shown])))
    assert step.text.endswith(
        "; its driver's own taint gpu.nvidia.com/xid:NoSchedule stays until that removes it or is "
        "restarted"
    )
    released = propose_back(intent(RELEASE), context(slices=[shown]))
    assert isinstance(released, Achieved), "what is left is not ours"


@pytest.mark.parametrize(
    ("shown", "wanted", "names"),
    [
        (resource_slice(), GPU_0, ["gpu-0"]),
        (resource_slice(), DeviceKey("aaaa-0"), ["gpu-0"]),
        (resource_slice(), DeviceKey("00000000:65:00.0"), ["gpu-0"]),
        (resource_slice(), DeviceKey("GPU-other"), []),
        (resource_slice(), DeviceKey(""), []),
        # A partition by itself, and all of them with the GPU.
        (
            resource_slice(
                device("gpu-0-mig-0", uuid="MIG-1", parentUUID=GPU_0.id, pci="0000:65:00.0"),
                device("gpu-0-mig-1", uuid="MIG-2", parentUUID=GPU_0.id, pci="0000:65:00.0"),
            ),
            GPU_0,
            ["gpu-0-mig-0", "gpu-0-mig-1"],
        ),
        (
            resource_slice(
                device("gpu-0-mig-0", uuid="MIG-1", pci="0000:65:00.0"),
                device("gpu-0-mig-1", uuid="MIG-2", pci="0000:65:00.0"),
            ),
            DeviceKey("MIG-1", slot="0000:65:00.0"),
            ["gpu-0-mig-0"],
        ),
        # AMD publishes the model as `deviceID`, which is no id of a device.
        (
            resource_slice(
                device("gpu-0-128", deviceID="0x740f", pci="0000:19:00.0"),
                device("gpu-1-129", deviceID="0x740f", pci="0000:1a:00.0"),
                driver="gpu.amd.com",
            ),
            DeviceKey("0x740f", serial="0x740f", slot="0000:1a:00.0"),
            ["gpu-1-129"],
        ),
        (
            resource_slice(device("gpu-0-cpx-nps4", pciAddr="0000:19:00.0"), driver="gpu.amd.com"),
            DeviceKey("uuid", slot="0000:19:00.0"),
            ["gpu-0-cpx-nps4"],
        ),
        (
            resource_slice(
                device("0000-03-00-0-0x56c0", pciAddress="0000:03:00.0"), driver="gpu.intel.com"
            ),
            DeviceKey("x", slot="0000:03:00.0"),
            ["0000-03-00-0-0x56c0"],
        ),
        # A driver that is not in the table.
        (
            resource_slice(device("npu-0", serial="S1"), driver="npu.example.com"),
            DeviceKey("x", serial="S1"),
            ["npu-0"],
        ),
        # With the driver's domain before its attributes.
        (
            resource_slice({"name": "g", "attributes": {f"{NVIDIA}/uuid": {"string": GPU_0.id}}}),
            GPU_0,
            ["g"],
        ),
        # As v1beta1 has it.
        (
            resource_slice({"name": "g", "basic": {"attributes": {"uuid": {"string": GPU_0.id}}}}),
            GPU_0,
            ["g"],
        ),
    ],
)
def test_the_device_is_found_by_what_its_driver_publishes(
    shown: Object, wanted: DeviceKey, names: list[str]
) -> None:
    assert [match.device for match in published(wanted, slices_of(listed(shown)))] == names


def test_slices_of_an_older_generation_count_no_more() -> None:
    old = resource_slice(device("old", uuid=GPU_0.id), generation=1)
    new = resource_slice(device("new", uuid=GPU_0.id), generation=2)
    matches = published(GPU_0, slices_of(listed(old, new)))
    assert [match.device for match in matches] == ["new"]


def observed(*rules: Object, state: HoldState = HoldState.OPEN) -> NodeObservation:
    shown = NodeObservation(name="n1", hold_state=state)
    return with_quarantined_devices(shown, rules_of(listed(*rules)), ())


def test_a_node_is_ours_by_its_devices_as_the_oldest_rule_says() -> None:
    second = rule("b", {**msgspec.to_builtins(HOLD), "device": GPU_1.id, "since": 2000.0}, SELECTOR)
    shown = observed(ours(), second)
    assert shown.hold_state is HoldState.OURS
    assert shown.annotation == HOLD.owner
    assert (shown.reason, shown.set_by, shown.set_at) == ("Xid", "accelwatch", 1000.0)
    assert shown.quarantined_devices == (GPU_0.id, GPU_1.id)
    assert shown.device_jobs == ()


@pytest.mark.parametrize(
    ("rules", "state", "seen"),
    [
        ((), HoldState.OPEN, HoldState.OPEN),
        ((ours("None"),), HoldState.OPEN, HoldState.OPEN),
        ((ours(),), HoldState.FOREIGN, HoldState.OURS),
        ((ours(),), HoldState.OURS, HoldState.OURS),
        ((ours(),), HoldState.DOWN, HoldState.DOWN),
    ],
)
def test_what_a_node_is_besides(
    rules: tuple[Object, ...], state: HoldState, seen: HoldState
) -> None:
    shown = observed(*rules, state=state)
    assert shown.hold_state is seen
    by_devices = (
        bool(rules) and state in (HoldState.OPEN, HoldState.FOREIGN) and seen is HoldState.OURS
    )
    assert bool(shown.quarantined_devices) is by_devices


def test_who_uses_a_device() -> None:
    def claim(name: str, allocated: str, *pods: str) -> Object:
        result = {"driver": NVIDIA, "pool": "n1", "device": allocated, "request": "gpu"}
        return {
            "metadata": {"name": name, "namespace": "ml"},
            "status": {
                "allocation": {"devices": {"results": [result]}},
                "reservedFor": [{"resource": "pods", "name": pod, "uid": pod} for pod in pods],
            },
        }

    waiting = {"metadata": {"name": "w", "namespace": "ml"}}
    claims = claims_of(listed(claim("a", "gpu-0", "p1", "p2"), claim("b", "gpu-1", "p3"), waiting))
    assert users(claims, [FIRST]) == {("ml", "p1", "p1"), ("ml", "p2", "p2")}
    assert users(claims, []) == frozenset()


def recovery(step: Step, *rules: Object) -> Recovery:
    started = StartedStep(step=step, started=1.0)
    return recovered(started, effects_of(OPTIONS)[step.kind], context(*rules))


def test_after_a_crash_what_is_seen_decides() -> None:
    tainting = step_of(propose_out(out(), context()))
    assert recovery(tainting) is Recovery.REDO
    assert recovery(tainting, ours()) is Recovery.DONE
    assert recovery(tainting, ours("None")) is Recovery.REDO
    removing = step_of(propose_back(intent(RELEASE), context(ours())))
    assert recovery(removing, ours()) is Recovery.REDO
    assert recovery(removing) is Recovery.DONE
    another = ours()
    another["metadata"]["uid"] = "made-since"
    assert recovery(removing, another) is Recovery.DONE


def test_the_command_of_a_person_gives_devices_back_as_well() -> None:
    server = {"api_server": "https://k8s.example:6443"}

    def command(**more: Any) -> str:
        options = {"server": server, **more}
        return KubernetesAction(ActionContext(name="c", options=options)).release_command("n1")

    assert "devicetaintrules" not in command()
    selector = (
        "-l app.kubernetes.io/managed-by=accelwatch,accelwatch.io/hub=west,accelwatch.io/node=n1"
    )
    assert command(devices={}, hub="west").endswith(f"; kubectl delete devicetaintrules {selector}")
    labels = new_rule(FIRST, HOLD, OPTIONS, "v1")["metadata"]["labels"]  # type: ignore[index]
    assert labels["accelwatch.io/node"] == "n1"


def test_a_rule_is_known_again_by_its_name() -> None:
    (read,) = rules_of(listed(ours()))
    assert isinstance(read, TaintRule)
    assert rule_name(FIRST, "accelwatch") == read.metadata.name
    assert rule_name(FIRST, "other-hub") != read.metadata.name
