"""Compressed blocks: gzip members and zstd frames, searched and unpacked in bounded steps."""
