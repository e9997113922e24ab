"""Actions as a configuration names them: plug-ins with their secrets read from files."""

import os
from collections.abc import Iterator, Mapping

from accelwatch import plugins
from accelwatch.action.contract import Action, ActionContext
from accelwatch.clock import Clock, SystemClock
from accelwatch.delivery.sinks import resolved
from accelwatch.errors import AccelwatchError
from accelwatch.remedy.settings import ActionSettings, RemedySettings


def actions_of(
    settings: RemedySettings, clock: Clock, environ: Mapping[str, str] | None = None
) -> dict[str, Action]:
    """The actions by name, in the order of the configuration. Raises ConfigError, PluginError."""
    return {name_of(one): built(one, clock, environ) for one in settings.actions}


def name_of(settings: ActionSettings) -> str:
    """By what an action is called; its type where it has no name of its own."""
    return settings.name or settings.type


def built(
    settings: ActionSettings, clock: Clock, environ: Mapping[str, str] | None = None
) -> Action:
    """One action; nothing is asked or done yet. Raises ConfigError, PluginError."""
    factory = plugins.load(plugins.ACTIONS, settings.type)
    context = ActionContext(
        name=name_of(settings),
        options=resolved(settings.options),
        clock=clock,
        environ=os.environ if environ is None else environ,
    )
    made: Action = factory(context)
    return made


def mistakes(settings: RemedySettings) -> Iterator[tuple[str, str]]:
    """What is wrong with the actions, by key within `remedy`."""
    for at, one in enumerate(settings.actions):
        if not one.type:
            continue
        if complaint := plugins.unknown(plugins.ACTIONS, [one.type]):
            yield f"actions[{at}].type", complaint
            continue
        try:
            built(one, SystemClock())
        except AccelwatchError as error:
            yield f"actions[{at}].options", str(error)
