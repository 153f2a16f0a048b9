"""The channel wall: a tile for each channel, at the right of the control room."""
