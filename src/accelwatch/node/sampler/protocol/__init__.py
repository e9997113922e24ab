"""What a collector process and its owner share: settings, frames, marks of calls in flight."""
