"""Actions as a configuration names them: plug-ins with their secrets read from files."""

import os
from collections.abc import Iterable, Iterator

from accelwatch.action.contract import (
    OPTIONAL,
    Action,
    ActionContext,
    HasComplaints,
    QuarantinesDevices,
)
from accelwatch.action.intent import IntentKind
from accelwatch.alerting.delivery.sinks import made
from accelwatch.alerting.rules.document import JobPolicy, QuarantineLevel
from accelwatch.alerting.rules.rule import Rule
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError, ConfigError, PluginError
from accelwatch.plugins import entry_points as plugins
from accelwatch.plugins.near_misses import near_misses
from accelwatch.remediation.pairing.abilities import BOTH
from accelwatch.remediation.pairing.paired_action import PairedAction
from accelwatch.remediation.settings import ActionSettings, RemedySettings


def actions_of(settings: RemedySettings, clock: Clock) -> dict[str, Action]:
    """The actions by name, in the order of the configuration. Raises ConfigError, PluginError."""
    single = {
        name_of(action_settings): built(action_settings, clock)
        for action_settings in settings.actions
    }
    pairs = {name_of(entry): entry.also for entry in settings.actions if entry.also}
    return {
        name: paired((name, action), (pairs[name], single[pairs[name]]))
        if name in pairs
        else action
        for name, action in single.items()
        if name not in pairs.values()
    }


def paired(first: tuple[str, Action], second: tuple[str, Action]) -> Action:
    """Two as one. Raises ConfigError for one that cannot quarantine and release a node."""
    for name, action in (first, second):
        if missing := sorted(BOTH - action.intents):
            raise ConfigError(f"also: {name} cannot do what both have to: {', '.join(missing)}")
    return PairedAction(first, second)


def name_of(settings: ActionSettings) -> str:
    """By what an action is called; its type where it has no name of its own."""
    return settings.name or settings.type


def built(settings: ActionSettings, clock: Clock) -> Action:
    """One action; it has made no call yet. Raises ConfigError, PluginError."""
    factory = plugins.load(plugins.ACTIONS, settings.type)

    def make(options: dict[str, object]) -> Action:
        context = ActionContext(
            name=name_of(settings), options=options, clock=clock, environ=os.environ
        )
        action: Action = factory(context)
        return action

    action = made(make, settings.options)
    _check_complete(settings.type, action)
    return action


def _check_complete(plugin: str, action: Action) -> None:
    """Raises PluginError for an action without all of the contract: each poll of it would fail."""
    members = (name for name in vars(Action) if not name.startswith("_"))
    missing = [name for name in members if not hasattr(action, name)]
    if missing:
        fix = "see accelwatch.action.contract.Action"
        # What `observe_all` was called before.
        if "observe_all" in missing and hasattr(action, "survey"):
            fix = "rename its survey to observe_all"
        raise PluginError(f"action plug-in {plugin!r} has no {', '.join(missing)}; {fix}")


def complaints_of(action: Action) -> list[str]:
    """What of an action would not be used or would not work: misspelled abilities, its own findings."""
    complaints = near_misses(action, Action, OPTIONAL)
    if isinstance(action, HasComplaints):
        complaints += action.complaints()
    return complaints


def check_in_job(rules: Iterable[Rule], actions: Iterable[Action]) -> None:
    """Raises ConfigError where a rule leaves a swap to the launcher, and no action can observe that."""
    if any(IntentKind.SWAP_IN_JOB in action.intents for action in actions):
        return
    for rule in rules:
        if rule.action is not None and rule.action.job is JobPolicy.IN_JOB:
            raise ConfigError(
                f"{rule.origin}: {rule.id}: action.job.policy in_job needs to see that the job's "
                "launcher goes on without the node; add cycle_info to the options of an action of type "
                "slurm, or an action of type script with hooks.swap_in_job to remedy.actions"
            )


def check_devices(rules: Iterable[Rule], actions: Iterable[Action]) -> None:
    """Raises ConfigError where a rule quarantines a single device, and no action can do that."""
    if any(
        isinstance(action, QuarantinesDevices) and action.quarantines_devices for action in actions
    ):
        return
    for rule in rules:
        if rule.action is not None and rule.action.quarantine is QuarantineLevel.DEVICE:
            raise ConfigError(
                f"{rule.origin}: {rule.id}: action.quarantine.level device needs a scheduler that "
                "takes out single devices: an action of type kubernetes with the option devices, and "
                "in no pair; or write node"
            )


def configuration_errors(settings: RemedySettings) -> Iterator[tuple[str, str]]:
    """What is wrong with the actions, by key within `remedy`."""
    for at, action_settings in enumerate(settings.actions):
        if not action_settings.type:
            continue
        if complaint := plugins.unknown(plugins.ACTIONS, [action_settings.type]):
            yield f"actions[{at}].type", complaint
            continue
        try:
            built(action_settings, SystemClock())
        except PluginError as error:
            yield f"actions[{at}].type", str(error)
        except AccelwatchError as error:
            for line in str(error).splitlines():
                yield f"actions[{at}].options", line
    yield from _of_pairs(settings)


def _of_pairs(settings: RemedySettings) -> Iterator[tuple[str, str]]:
    """Of those whose both actions can be built."""
    by_name = {name_of(entry): entry for entry in settings.actions}
    for at, entry in enumerate(settings.actions):
        other = by_name.get(entry.also)
        if other is None or not (entry.type and other.type):
            continue
        try:
            first, second = built(entry, SystemClock()), built(other, SystemClock())
        except AccelwatchError:
            continue  # reported with the action itself
        try:
            paired((name_of(entry), first), (entry.also, second))
        except ConfigError as error:
            yield f"actions[{at}].also", str(error)
