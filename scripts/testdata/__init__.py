"""Avro test files by independent writers, and what their tensors must be."""
