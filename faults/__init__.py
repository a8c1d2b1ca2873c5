"""Injects faults into the command and the Python package, and checks what becomes of the data; see README.md."""
