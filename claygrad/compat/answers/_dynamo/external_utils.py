"""`torch._dynamo.external_utils`: nothing is compiled."""
