"""What a rule says of a site: reading rule files, taking items from pages by them, and trying them; all of it pure."""
