import torch

from modules.cases import case, cases, integers

PLACES = torch.tensor([[1, 2, 2, 5], [0, 1, 9, 2]])
OFFSETS = torch.tensor([0, 3, 3, 5])
BAG = [torch.tensor([1, 2, 2, 5, 0, 1, 9, 2]), OFFSETS]

CASES = [
    *cases("Embedding", [{}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True}, {"max_norm": 0.8},
                         {"max_norm": 0.5, "norm_type": 1.0, "padding_idx": 0, "scale_grad_by_freq": True},
                         {"max_norm": 0.3, "norm_type": float("inf")}], of=[PLACES], num_embeddings=10, embedding_dim=3),
    *case("Embedding", 10, 3, of=[torch.tensor(4)]),
    *case("Embedding", 10, 3, of=[lambda: integers(2, 3, 4, high=10)]),
    *cases("EmbeddingBag", [{}, {"mode": "sum"}, {"mode": "max"}, {"mode": "sum", "padding_idx": 2}, {"mode": "max", "padding_idx": 1},
                            {"padding_idx": -1}, {"max_norm": 0.5}, {"max_norm": 0.4, "norm_type": 1.0, "mode": "sum"},
                            {"scale_grad_by_freq": True}, {"mode": "sum", "scale_grad_by_freq": True}],
           of=BAG, num_embeddings=10, embedding_dim=3),
    *cases("EmbeddingBag", [{}, {"mode": "max"}, {"mode": "sum"}], of=[PLACES], num_embeddings=10, embedding_dim=3),
    *case("EmbeddingBag", 10, 3, mode="sum", of=[*BAG, (8,)]),
    *case("EmbeddingBag", 10, 3, mode="sum", of=[PLACES, None, (2, 4)]),
    *cases("EmbeddingBag", [{}, {"mode": "max"}], include_last_offset=True, of=[BAG[0], torch.tensor([0, 3, 5, 8])],
           num_embeddings=10, embedding_dim=3),
]  # fmt: skip
