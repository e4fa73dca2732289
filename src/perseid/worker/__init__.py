"""The loop that claims and runs jobs: leases, maintenance duties (one a file), process supervision."""
