"""The recorders: what each does, its controls, and the windows that are planned on them."""
