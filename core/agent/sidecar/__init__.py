"""The playout sidecar: one process that keeps one generation of one channel on air."""
