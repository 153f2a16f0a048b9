"""The timeline: recorders and channels on one axis, to be read and to be edited.

What decides (axis, lanes, rows, hits, snapping, collisions, gestures) knows no Qt and is tested without it;
`canvas` and the `paint_*` files only show it and pass on what hands do.
"""
