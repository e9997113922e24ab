"""What was read for an intent, as JSON texts in an observation's `own`, and read again from them. Pure.

The same observation always leads to the same proposal, in a test as in a recording. Keys of `own`
besides those here belong to the module that reads them.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.observed import HoldState, JobObservation, Observed
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.quarantines import hold_state
from accelwatch_backendai.settings.options import BackendAiOptions

# The intent's agent, as JSON; empty where the manager has none of that id.
AGENT = "agent"
# Our hold on it by the journal; empty where it has none.
ANNOTATION = "annotation"
# The spare of the intent, likewise; for what draws and returns it.
SPARE = "spare"
# The resource group of the intent's job; empty where it has none, or none is known.
GROUP = "group"
# Agents whose machines have no power, with commas.
OFF = "off"


class ObservedContext(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed of an agent, a spare or a job, as proposals and effects read it."""

    # Unix seconds at which it was read.
    time: float
    options: BackendAiOptions
    agent: Agent | None
    # Our hold on the agent, by the journal.
    annotation: OwnerAnnotation | None
    spare: Agent | None
    job: JobObservation | None
    proven_dead: bool
    own: Mapping[str, str]

    @property
    def off(self) -> frozenset[str]:
        """The agents whose machines are known to have no power, by the site's command."""
        return frozenset(self.own.get(OFF, "").split(",")) - {""}

    @property
    def hold_state(self) -> HoldState:
        """Whose the intent's agent is."""
        if self.agent is None:
            return HoldState.MISSING
        return hold_state(self.agent, self.annotation)


def observed_context_of(observed: Observed, options: BackendAiOptions) -> ObservedContext:
    """What the texts say."""
    own = observed.own
    return ObservedContext(
        time=observed.time,
        options=options,
        agent=agent_of(own.get(AGENT, "")),
        annotation=_annotation_of(own.get(ANNOTATION, "")),
        spare=agent_of(own.get(SPARE, "")),
        job=observed.job,
        proven_dead=observed.proven_dead,
        own=own,
    )


def text_of(value: Agent | OwnerAnnotation | None) -> str:
    """What stands in `own` for it."""
    return "" if value is None else msgspec.json.encode(value).decode()


def agent_of(text: str) -> Agent | None:
    """The agent of a text; None for an empty one."""
    return msgspec.json.decode(text, type=Agent) if text else None


def _annotation_of(text: str) -> OwnerAnnotation | None:
    return msgspec.json.decode(text, type=OwnerAnnotation) if text else None
