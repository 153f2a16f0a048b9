"""The playlist editor: what a channel plays, in which order."""
