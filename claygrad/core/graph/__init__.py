"""Nodes, saved values, views, in-place writes and backward. Knows no family of operations."""
