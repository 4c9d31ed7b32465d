"""Answers of `torch.onnx`, which exports nothing here."""
from claygrad.compat.refusing import always

is_in_onnx_export = always(False)

# Packages tell how their operators would be exported when they are imported; no export ever asks.
register_custom_op_symbolic = unregister_custom_op_symbolic = always(None)
