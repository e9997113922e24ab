"""Rule files to checked rules, with what a site overrides and what looks like a mistake."""
