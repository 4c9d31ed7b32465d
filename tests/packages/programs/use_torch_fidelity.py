"""Distances of sets of pictures: FID, KID and ISC of torch-fidelity, Fréchet's distance and Inception blocks of pytorch-fid."""
import numpy as np
import torch
from pytorch_fid.fid_score import calculate_frechet_distance
from pytorch_fid.inception import FIDInceptionA, FIDInceptionE_1
from report import tell
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric
from torch_fidelity.metric_isc import isc_features_to_metric
from torch_fidelity.metric_kid import kid_features_to_metric


def main():
    torch.manual_seed(0)
    some, others = torch.randn(60, 16), torch.randn(50, 16) + 0.3
    tell("fid", fid_statistics_to_metric(fid_features_to_statistics(some), fid_features_to_statistics(others), False))
    tell("kid", kid_features_to_metric(some, others, kid_subsets=5, kid_subset_size=20, verbose=False))
    tell("isc", isc_features_to_metric(torch.randn(60, 10), 5))
    a, b = some.double().numpy(), others.double().numpy()
    tell("distance", float(calculate_frechet_distance(a.mean(0), np.cov(a, rowvar=False), b.mean(0), np.cov(b, rowvar=False))))
    tell("block", FIDInceptionA(16, 8).double().eval()(torch.randn(2, 16, 9, 9, dtype=torch.float64)))
    tell("end", FIDInceptionE_1(16).double().eval()(torch.randn(1, 16, 5, 5, dtype=torch.float64)))


main()
