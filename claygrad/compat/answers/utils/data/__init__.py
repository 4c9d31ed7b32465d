"""Names of `torch.utils.data` that other packages ask for."""
from claygrad.compat.refusing import refusing_class, refusing_function

IterDataPipe = refusing_class("torch.utils.data.datapipes.IterDataPipe")
MapDataPipe = refusing_class("torch.utils.data.datapipes.MapDataPipe")
functional_datapipe = refusing_function("torch.utils.data.datapipes.functional_datapipe")
