"""The terminal dashboard: views of a source of snapshots. The only package that knows Textual."""
