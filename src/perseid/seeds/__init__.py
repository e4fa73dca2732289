"""What to collect of which site and when: reading seeds, their schedules, and from a seed to addresses."""
