"""Knowledge graphs of pykeen: TransE, ComplEx and RotatE trained on a small graph, scores and predictions."""
import logging
import warnings

import numpy as np
import torch
from pykeen.models import ComplEx, RotatE, TransE
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import TriplesFactory
from report import tell

logging.disable(logging.CRITICAL)


def main():
    warnings.simplefilter("ignore")
    rows = np.array([[f"e{i}", f"r{i % 2}", f"e{(i * 3 + 1) % 7}"] for i in range(14)])
    triples = TriplesFactory.from_labeled_triples(rows)
    for kind in (TransE, ComplEx, RotatE):
        model = kind(triples_factory=triples, embedding_dim=8, random_seed=4)
        loop = SLCWATrainingLoop(model=model, triples_factory=triples, optimizer=torch.optim.Adam(model.get_grad_params(), lr=0.01))
        losses = loop.train(triples_factory=triples, num_epochs=3, batch_size=7, use_tqdm=False, sub_batch_size=None)
        tell(kind.__name__, losses)
        with torch.no_grad():
            tell("scores", model.score_hrt(triples.mapped_triples))
            tell("tails", model.score_t(triples.mapped_triples[:2, :2]))


main()
