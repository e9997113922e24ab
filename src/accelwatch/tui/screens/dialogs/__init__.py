"""Dialogs over a screen: choice, prompt, filter line, command palette."""
