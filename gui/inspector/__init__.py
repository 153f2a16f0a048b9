"""The inspector: one window closely. Its form, what a series comes to, and what happened to it."""
