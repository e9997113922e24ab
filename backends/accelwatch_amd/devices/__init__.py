"""Which AMD GPUs there are, and what each is called."""
