"""Commands about rules: check, test, list, export, back-test."""
