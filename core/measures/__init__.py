"""What the plant's own figures have been lately: collected from the picture, bounded, never stored."""
