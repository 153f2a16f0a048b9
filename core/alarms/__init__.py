"""Alarms: what is wrong, what it means, and what to do about it."""
