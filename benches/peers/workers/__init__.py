"""The other systems, a process each."""
