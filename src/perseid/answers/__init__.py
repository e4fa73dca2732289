"""What a language model makes of pages: the questions put to it, and what is done with its answers."""
