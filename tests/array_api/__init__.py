"""Tests of claygrad.array_api."""
