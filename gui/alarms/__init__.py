"""The alarm panel: what is wrong, what it means, what to do, and the operator's answer to it."""
