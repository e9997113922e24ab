"""What the API takes and answers, as structs."""
