"""The stations of the plant: who is at them, who leads, and how they are."""
