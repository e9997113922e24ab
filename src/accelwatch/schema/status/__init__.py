"""A device in a word or a sentence: status, verdict, heat, failure."""
