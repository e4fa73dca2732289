"""What is read from the truth, and how: one text for both databases. Nothing here writes."""
