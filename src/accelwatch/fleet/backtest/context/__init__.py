"""An archive as the context of rules: its samples as columns, its devices as rows."""
