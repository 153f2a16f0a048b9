"""Background jobs: what waits and runs, what recurs, what happened."""
