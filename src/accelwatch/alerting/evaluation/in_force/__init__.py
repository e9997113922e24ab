"""The rules in force: read from files that change, and switched off when they exceed their budget."""
