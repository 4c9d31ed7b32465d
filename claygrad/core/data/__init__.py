"""Bytes, layouts, dtypes, devices: what lies below tensors. Knows no graph."""
