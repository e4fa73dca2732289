"""What callers send: strict models of every request body, the pieces of both versions once."""
