"""Language models over HTTP, in the protocol that OpenAI began and most servers speak."""
