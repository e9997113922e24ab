"""Which rule files a hub has, also while it waits and evaluates none of them."""

from typing import TYPE_CHECKING

from accelwatch.config.model import RuleSettings

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.in_force.rule_file_reader import RuleFileReader
    from accelwatch.alerting.rules.loading.configured import FileStamps
    from accelwatch.alerting.rules.rule import RuleSet


class OwnRules:
    """For one event loop."""

    def __init__(self) -> None:
        self._files: RuleFileReader | None = None
        self._read: tuple[RuleSettings, FileStamps] | None = None
        # SHA-256 in hexadecimal; empty where there are no rules, or none that can be loaded.
        self.digest = ""
        self.count = 0

    async def refresh(self, settings: RuleSettings) -> None:
        """Check whether the files have changed; files that do not answer are read the next time."""
        if not settings.any:
            self._read, self.digest, self.count = None, "", 0
            return
        # Loaded by those only who have rules.
        from accelwatch.alerting.evaluation.in_force.rule_file_reader import (
            RuleFileReader,
            RuleFilesHangError,
        )
        from accelwatch.alerting.rules.rule import RuleSet

        reader = self._files = self._files or RuleFileReader()
        cached = self._read[1] if self._read is not None and self._read[0] == settings else None
        try:
            files = await reader.read(settings, cached=cached)
        except RuleFilesHangError:
            return
        self._read = settings, files.stamps
        if isinstance(files.outcome, RuleSet):
            self.set_rules(files.outcome)
        elif files.outcome is not None:
            self.digest, self.count = "", 0

    def set_rules(self, rules: "RuleSet") -> None:
        """Those that are in force here."""
        self.digest, self.count = rules.digest, len(rules.rules)
