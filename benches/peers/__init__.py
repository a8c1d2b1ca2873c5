"""Compares atds with other readers of Avro, side by side on the same files; see README.md."""
