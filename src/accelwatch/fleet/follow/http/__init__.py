"""HTTP/1.1 requests and answers, within limits."""
