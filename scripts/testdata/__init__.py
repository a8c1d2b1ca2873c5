"""Avro test files by independent writers, and their expected tensors."""
