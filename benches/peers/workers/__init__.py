"""The other systems, each in its own process."""
