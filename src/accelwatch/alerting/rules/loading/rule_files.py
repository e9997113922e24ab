"""Rule files to checked rules; all mistakes of all files at once, with file, line, key and the mend."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from accelwatch.alerting.rules.loading.file_loader import Checked, Concerned, FileLoader
from accelwatch.alerting.rules.loading.overrides import Amendment, amended
from accelwatch.alerting.rules.loading.pack_files import PACKS, files_of
from accelwatch.alerting.rules.rule import Profile, Rule, RuleSet
from accelwatch.base.errors import ConfigError
from accelwatch.expr.vocabulary.names import NameTable
from accelwatch.system.located_yaml.document import LocatedDocument, parse, read
from accelwatch.system.located_yaml.nodes import read_file


def load(
    paths: Iterable[Path],
    names: NameTable | None = None,
    *,
    tests: bool = True,
) -> RuleSet:
    """The rules of files and folders, over the names of a device or those of a fleet.

    Who plays no `tests` spares reading those of the packs. Raises ConfigError with a line for each
    mistake of all files.
    """
    return RuleFiles(paths, tests=tests).rules(names)


class RuleFiles:
    """Rule files that are read; what they say is checked by `rules`."""

    def __init__(self, paths: Iterable[Path], *, tests: bool = True) -> None:
        """Raises ConfigError for a path at which there is nothing."""
        self._files = files_of(paths)
        self._read: list[tuple[Path, LocatedDocument | ConfigError]] = []
        for file in self._files:
            content: LocatedDocument | ConfigError
            try:
                content = read(file) if tests or file.parent != PACKS else _read_without_tests(file)
            except ConfigError as error:
                content = error
            self._read.append((file, content))
        # What was checked by the names of the catalogue counts for the next snapshot too.
        self._checked: Checked = {}

    def rules(self, names: NameTable | None = None, concerned: Concerned | None = None) -> RuleSet:
        """Their rules. Raises ConfigError with a line for each mistake of all files.

        Rules of packs with which nobody is `concerned` are left out, before the time for checking them
        is spent.
        """
        rules: dict[str, Rule] = {}
        profiles: list[Profile] = []
        amendments: list[Amendment] = []
        complaints: list[str] = []
        checked = self._checked if names is None else {}
        for file, document in self._read:
            selector = concerned if file.parent == PACKS else None
            try:
                if isinstance(document, ConfigError):
                    raise document
                loader = FileLoader(file, document, names, rules, selector, checked=checked)
                loaded = loader.load()
            except ConfigError as error:
                complaints.append(str(error))
            else:
                rules.update(loaded.rules)
                profiles += loaded.profiles
                amendments += loader.amendments
        if not complaints:
            rules = amended(rules, amendments, is_complete=concerned is None)
            complaints += self._refusals()
        if complaints:
            raise ConfigError("\n".join(complaints))
        digest = hashlib.sha256("".join(rule.digest for rule in rules.values()).encode())
        return RuleSet(
            rules=rules,
            profiles=tuple(profiles),
            digest=digest.hexdigest(),
            files=tuple(self._files),
        )

    def _refusals(self) -> Iterator[str]:
        """What is wrong with files of which each is well for itself."""
        for _, document in self._read:
            try:
                if isinstance(document, LocatedDocument):
                    document.refuse()
            except ConfigError as error:
                yield str(error)


# The tests of a rule of a pack: lines that are further in. They are two thirds of a pack.
_TESTS = re.compile(rb"^  tests:\n(?:(?:  [ -] .*)?\n)*", re.MULTILINE)


def _read_without_tests(file: Path) -> LocatedDocument:
    """A pack's file; what follows the tests stands on the line where it is written."""
    content = _TESTS.sub(lambda match: b"\n" * match[0].count(b"\n"), read_file(file))
    return parse(content, str(file))
