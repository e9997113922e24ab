"""The GPUs through nvidia-smi: its XML, its list of NVLinks, and other machines by both."""
