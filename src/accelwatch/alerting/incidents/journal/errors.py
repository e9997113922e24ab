"""What can be wrong with a journal, wherever it is kept."""

from accelwatch.base.errors import AccelwatchError


class JournalError(AccelwatchError):
    """The journal cannot be read or written now."""


class JournalDamagedError(JournalError):
    """What is kept there is no journal any more, or its chain is broken."""


class JournalVersionError(JournalError):
    """Another version has written the journal, and this one does not read what that writes."""


class JournalInUseError(JournalError):
    """Another process writes the journal, or did until a few seconds ago."""


class LeaseLostError(JournalError):
    """Another may have written the journal meanwhile: who wrote it has to load it again."""


class JournalRefusedError(JournalError):
    """The batch itself is at fault: it will not be written, others may be."""


class JournalClaimedError(JournalRefusedError):
    """Something else stands that claims the same; nothing of the batch is written."""
