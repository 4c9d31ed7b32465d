"""Which claygrad this is, and what it was built with."""
__version__ = "0.1.0"
cuda = None
hip = None
