"""`torch.utils.data._utils`: where PyTorch keeps what `DataLoader` is made of."""

HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False
