"""What is well for itself in a hub's files and does not fit together: rules, actions, spares, targets.

`accelwatch config check --hub` refuses it. A hub begins all the same, and warns: people are to be
notified of incidents though a spare was never made.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from accelwatch.action.contract import Action, NeedsOptions
from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Mode
from accelwatch.alerting.rules.rule import Rule
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.base.untrusted_text import printable
from accelwatch.config.reader import source_of
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.target import targets_of
from accelwatch.remediation.actions import name_of
from accelwatch.remediation.policy.plan.escalation import INTENTS
from accelwatch.system.files.file_rights import unsafe_for_state
from accelwatch.system.located_yaml.complaint import Complaint

_SPARES = "remedy.spares.nodes"
_MOST_NAMED = 5
_DOCUMENT = "docs/actions/slurm.md and docs/actions/kubernetes.md, Spares"


def misfits(
    settings: HubSettings, actions: Mapping[str, Action], origins: Mapping[str, str]
) -> Iterator[Complaint]:
    """Each with file, line, key and what to write; `origins` says where a key was given.

    The settings have no mistake of their own.
    """

    def of_settings(key: str, text: str) -> Complaint:
        return Complaint(source_of(origins, key, None), key, text)

    for key, text in (*_of_spares(settings, actions), *_of_tests(settings, actions)):
        yield of_settings(key, text)
    if actions:
        yield from _of_rules(settings, actions)


def _of_spares(settings: HubSettings, actions: Mapping[str, Action]) -> Iterator[tuple[str, str]]:
    spares = settings.remedy.spares.names()
    unable = _unable(actions.values(), IntentKind.DRAW_SPARE)
    if spares and actions and unable:
        yield _SPARES, f"nothing can draw them: {unable} ({_DOCUMENT})"
    for at, entry in enumerate(settings.remedy.actions):
        # An action that draws spares without any option for it, as Kubernetes does, needs none.
        if not spares and _mentions_spares(entry.options):
            name = name_of(entry)
            text = (
                f"{name} says how spares are drawn, and {_SPARES} names none; "
                f"write them there by the scheduler's names, such as [n061, n062] ({_DOCUMENT})"
            )
            yield f"remedy.actions[{at}].options", text
    strange = _strangers(settings, spares)
    if strange:
        named = ", ".join(strange[:_MOST_NAMED])
        more = f" and {len(strange) - _MOST_NAMED} more" if len(strange) > _MOST_NAMED else ""
        yield (
            _SPARES,
            f"no target is called {named}{more}, and without an agent of ours no spare is drawn; "
            "add it under targets, or write `HUB_NAME: SPARE` under remedy.nodes",
        )


def _of_tests(settings: HubSettings, actions: Mapping[str, Action]) -> Iterator[tuple[str, str]]:
    """A test is of an action that knows it by its name, where the action's options name tests."""
    unable = _unable(actions.values(), IntentKind.TEST)
    named = _names_of_tests(settings)
    for at, test in enumerate(settings.remedy.tests):
        key = f"remedy.tests[{at}]"
        if actions and unable:
            yield key, f"no test can be run: {unable}"
        elif named and test.name and test.name not in named:
            close = nearest(test.name, sorted(named))
            hint = f"; did you mean {close}?" if close else ""
            yield f"{key}.name", f"no action has a test {test.name} among options.tests{hint}"


def _names_of_tests(settings: HubSettings) -> set[str]:
    """Of the actions' options; empty where a hook runs tests, for that may know any."""
    names: set[str] = set()
    for entry in settings.remedy.actions:
        hooks, tests = entry.options.get("hooks"), entry.options.get("tests")
        if isinstance(hooks, dict) and IntentKind.TEST.value in hooks:
            return set()
        if isinstance(tests, dict):
            names.update(map(str, tests))
    return names


def _mentions_spares(options: Mapping[str, object]) -> bool:
    """Whether the options of an action say how spares are drawn."""
    hooks = options.get("hooks")
    keys = {*options, *(hooks if isinstance(hooks, dict) else ())}
    return not keys.isdisjoint({"spares", "spare_taint", IntentKind.DRAW_SPARE.value})


def _strangers(settings: HubSettings, spares: Sequence[str]) -> list[str]:
    """Spares that no target can be, where all targets are written out."""
    targets = settings.targets
    discovered = (
        targets.ssh,
        targets.files,
        targets.http,
        targets.dns,
        targets.kubernetes,
        targets.slurm,
        targets.backendai,
    )
    if not targets.static or any(discovered):
        return []
    try:
        target_names = {_short(target.host) for target in targets_of(targets.static, {})}
    except UsageError:
        return []
    target_names |= {_short(name) for name in settings.remedy.nodes.values()}
    return [name for name in spares if _short(name) not in target_names]


def _short(host: str) -> str:
    return host.casefold().partition(".")[0]


def _of_rules(settings: HubSettings, actions: Mapping[str, Action]) -> Iterator[Complaint]:
    from accelwatch.alerting.rules.loading.configured import loaded_rules

    if not settings.rules.any:
        return
    try:
        rules = loaded_rules(settings.rules).rules
    except ConfigError:
        return  # which is a mistake of its own
    complaints: dict[tuple[str, str, str], list[str]] = {}
    for rule in rules.values():
        if rule.action is not None and rule.mode is not Mode.OFF:
            origin = str(rule.action_origin or rule.origin)
            for key, text in _of_rule(rule, settings, actions.values()):
                complaints.setdefault((origin, key, text), []).append(rule.id)
    for (origin, key, text), ids in complaints.items():
        yield Complaint(origin, key, f"{text} ({', '.join(ids)})")


def _of_rule(
    rule: Rule, settings: HubSettings, actions: Collection[Action]
) -> Iterator[tuple[str, str]]:
    assert rule.action is not None
    if rule.mode is Mode.AUTO and not rule.confidence.suffices(rule.act_on):
        yield (
            "mode",
            "auto asks a person all the same, for the confidence is low; write act_on: low beside it "
            "to have it act without, or mode: approve",
        )
    if rule.action.draw_spare and not settings.remedy.spares.nodes:
        yield (
            "action.spare",
            f"a spare is requested, and {_SPARES} names none; name them there, or leave `spare` out",
        )
    for step in rule.action.remedy:
        kind = INTENTS.get(step.name)
        if kind is not None and (unable := _unable(actions, kind)):
            yield "action.remedy", f"{step.name} can never be done: {unable}; or leave it out"
    if rule.action.verify_active and (unable := _unable(actions, IntentKind.TEST)):
        yield "action.verify", f"no test can be run: {unable}"
    elif named := _names_of_tests(settings):
        for test in rule.action.verify_active:
            if test not in named:
                close = nearest(test, sorted(named))
                hint = f"; did you mean {close}?" if close else ""
                yield "action.verify", f"no action has a test {test} among options.tests{hint}"


def _unable(actions: Collection[Action], kind: IntentKind) -> str:
    """Why no action can do something, and what to write; empty where one can."""
    able = [action for action in actions if kind in action.intents]
    if not able:
        return f"no action can {kind.value.replace('_', ' ')}; a script can, by hooks.{kind.value}"
    lacking = [_lacks(action, kind) for action in able]
    return "" if not all(lacking) else "; ".join(dict.fromkeys(lacking))


def _lacks(action: Action, kind: IntentKind) -> str:
    return printable(action.needs(kind)) if isinstance(action, NeedsOptions) else ""


def misfits_of(settings: HubSettings, origins: Mapping[str, str]) -> list[Complaint]:
    """The same for settings whose actions are not built yet. Raises ConfigError, PluginError."""
    from accelwatch.base.clock import SystemClock
    from accelwatch.remediation.actions import actions_of

    complaints = list(misfits(settings, actions_of(settings.remedy, SystemClock()), origins))
    if settings.state_dir and (unsafe := unsafe_for_state(Path(settings.state_dir))):
        complaints.append(Complaint(source_of(origins, "state_dir", None), "state_dir", unsafe))
    return complaints
