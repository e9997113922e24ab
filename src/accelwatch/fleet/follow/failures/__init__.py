"""Why a target could not be read: kinds, texts, and lines of the log."""
