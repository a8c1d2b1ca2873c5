"""Compares one pipeline of n threads with n processes of one thread; see benches/README.md.

It needs Python 3.10, the command and nothing else, so that it runs where there is no compiler.
"""
