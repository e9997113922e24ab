"""What schedulers are asked and answer: requests over HTTP of any of them, and what is of one alone."""
