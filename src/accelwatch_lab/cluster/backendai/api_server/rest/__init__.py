"""The paths of the API: sessions of the old kind, and those of /v2."""
