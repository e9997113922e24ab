"""Where a journal is kept."""

from pathlib import Path

# In a file of a folder; who only reads may name the file itself.
JournalLocation = Path
