"""From a validated body to what the core understands, with a sentence for whatever is left out. Pure."""
