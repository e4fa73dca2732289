"""The loop that claims and runs jobs, its enrolment and its maintenance duties (one a file)."""
