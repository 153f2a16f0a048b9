"""The handlers that ship, one file each, named as the handler is."""
