"""The command line: a module a command; only this package prints."""
