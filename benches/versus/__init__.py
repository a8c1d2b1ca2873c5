"""Compares two builds of the command in paired runs; see benches/README.md."""
