"""The as-run log: what really went to air."""
