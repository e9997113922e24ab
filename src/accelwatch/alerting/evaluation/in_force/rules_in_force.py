"""The rules of the configuration: read at the start, when it changes, and when their files do.

What cannot be loaded is refused, and the rules before stay in force.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from accelwatch.alerting.evaluation.evaluator import Evaluator, IsNew
from accelwatch.alerting.evaluation.in_force.rule_file_reader import (
    RuleFileReader,
    RuleFilesHangError,
)
from accelwatch.alerting.rules.loading.configured import FileStamps, file_stamps, loaded_rules
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.model import RuleSettings

logger = logging.getLogger(__name__)


class Candidate(NamedTuple):
    """Rules that are loaded and not in force yet."""

    settings: RuleSettings
    stamps: FileStamps
    rules: RuleSet


class RulesInForce:
    """Gives an evaluator its rules; the loop's thread only."""

    def __init__(
        self,
        evaluator: Evaluator,
        settings: RuleSettings,
        is_new: IsNew,
        on_replaced: Callable[[RuleSet], Awaitable[None]],
        ticking: asyncio.Lock,
    ) -> None:
        """`on_replaced` is called when the evaluator has other rules, `ticking` is held in a tick.

        Raises ConfigError for rules that cannot be loaded, WindowsError for those too dear.
        """
        self._evaluator = evaluator
        self._is_new = is_new
        self._on_replaced = on_replaced
        self._ticking = ticking
        self._files = RuleFileReader()
        self._settings = settings
        # Of the rule files when they were last checked.
        self._stamps = file_stamps(settings)
        self.rules = loaded_rules(settings)
        # Between two ticks.
        self.interval_s = 0.0
        self._set_pace(settings)
        evaluator.set_rules(self.rules, is_new)
        # Why the rule files that were read last are refused; empty when they are in force.
        self.refused = ""
        # That the rule files did not answer the last check; empty when they did.
        self.unanswered = ""
        # Why the configuration that was read last is refused.
        self.configuration_refused = ""

    def _set_pace(self, settings: RuleSettings) -> None:
        self.interval_s = self._evaluator.pace(settings.interval_s)
        self._evaluator.budgets.allow(settings.budget_s)

    async def load(self, settings: RuleSettings) -> Candidate:
        """Read the rules of changed settings. Raises ConfigError."""
        files = await self._files.read(settings)
        rules = files.outcome
        if not isinstance(rules, RuleSet):
            assert rules is not None
            self._refuse(rules, settings, files.stamps)
            raise rules
        return Candidate(settings, files.stamps, rules)

    async def apply(self, candidate: Candidate) -> None:
        """Put rules in force. Raises WindowsError; then those before stay."""
        settings, stamps, rules = candidate
        # Rules and their settings change together: a check of the files that waits sees both.
        async with self._ticking:
            try:
                await self._replace(rules)
            except AccelwatchError as error:
                self._refuse(error, settings, stamps)
                raise
            self._set_pace(settings)
            self._settings, self._stamps, self.refused = settings, stamps, ""

    def _refuse(self, error: Exception, settings: RuleSettings, stamps: FileStamps) -> None:
        if settings == self._settings:
            # The caller reports it; the next check of the files does not report it again.
            self._stamps, self.refused = stamps, _refusal(error)

    async def _replace(self, rules: RuleSet) -> None:
        # `_ticking` is held: a tick goes on with the rules that it began with.
        if rules.digest == self.rules.digest:
            return
        self._evaluator.set_rules(rules, self._is_new)
        self.rules = rules
        await self._on_replaced(rules)
        logger.info("rules in force count=%d", len(rules.rules))

    async def reload_changed_files(self) -> None:
        """Load rule files that have changed; an error in them is logged once."""
        settings = self._settings
        try:
            files = await self._files.read(settings, cached=self._stamps)
        except RuleFilesHangError as error:
            if not self.unanswered:
                logger.warning("%s", error)
            self.unanswered = str(error)
            return
        self.unanswered = ""
        if files.outcome is None:
            return
        async with self._ticking:
            # Of settings that a reload has replaced meanwhile nobody wants to know.
            if settings is self._settings:
                self._stamps = files.stamps
                await self._apply_outcome(files.outcome)

    async def _apply_outcome(self, rules: RuleSet | Exception) -> None:
        try:
            if isinstance(rules, Exception):
                raise rules
            if self.refused:
                self.configuration_refused = ""  # which was because of them
                if rules.digest == self.rules.digest:
                    logger.info("rule files are valid again count=%d", len(rules.rules))
            await self._replace(rules)
        except (AccelwatchError, OSError) as error:
            refused = _refusal(error)
            if refused != self.refused:
                logger.error("%s", refused)
            self.refused = refused
        else:
            self.refused = ""


def _refusal(error: Exception) -> str:
    return f"rules refused, the previous ones stay in force: {error}"
