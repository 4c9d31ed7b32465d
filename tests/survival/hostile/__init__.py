"""Hostile calls: valid programs with arguments replaced by what no caller should give. `run.py` says how to use it."""
