"""Commands that look like nvidia-smi: their tables, queries and XML."""
