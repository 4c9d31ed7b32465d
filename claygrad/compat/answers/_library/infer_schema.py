"""`torch._library.infer_schema`: the schema of an operator, read off the annotations of its function."""
from claygrad.library import infer_schema as infer_schema
