"""Finds to each line of a text the line that means most nearly the same: sentences.py MODEL [TEXT] [DEVICE]

MODEL is the folder with model.safetensors and vocab.txt that ../sentences/fetch_model prints."""

import sys
import unicodedata
from pathlib import Path

import backplane as bp
from backplane import nn

WIDTH, INNER, HEADS, LAYERS, EPS = 384, 1536, 12, 6, 1e-12
IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))  # each is a word  # fmt: skip


class Tokenizer:
    """WordPiece: words in lower case, without accents, each spelled by the longest pieces of the vocabulary."""

    def __init__(self, vocabulary):
        self.numbers = {piece: i for i, piece in enumerate(Path(vocabulary).read_text(encoding="utf-8").splitlines())}

    def __call__(self, text, length=256):
        pieces = [piece for word in words_of(text) for piece in self.spell(word)]
        return [self.numbers[piece] for piece in ["[CLS]", *pieces[: length - 2], "[SEP]"]]

    def spell(self, word):
        pieces, first = [], 0
        while first < len(word) <= 100:
            for last in range(len(word), first, -1):
                piece = "##" * (first > 0) + word[first:last]
                if piece in self.numbers:
                    break
            else:
                return ["[UNK]"]
            pieces.append(piece)
            first = last
        return pieces or ["[UNK]"]


def words_of(text):
    plain = ""
    for letter in text:
        if letter in " \t\n\r" or unicodedata.category(letter) == "Zs":
            plain += " "
        elif any(first <= ord(letter) <= last for first, last in IDEOGRAPHS):
            plain += f" {letter} "
        elif unicodedata.category(letter)[0] != "C" and letter != "\ufffd":
            parts = unicodedata.normalize("NFD", letter)
            plain += "".join(part.lower() for part in parts if unicodedata.category(part) != "Mn")
    return "".join(f" {letter} " if is_punctuation(letter) else letter for letter in plain).split()


def is_punctuation(letter):
    """In ASCII, BERT counts all that is neither letter nor digit."""
    return letter > " " and not letter.isalnum() if letter.isascii() else unicodedata.category(letter)[0] == "P"


# The attributes have the names of the checkpoint, so that its state_dict loads.
class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings, self.position_embeddings = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, pieces):
        places = self.position_embeddings.weight[: pieces.shape[1]]
        return self.LayerNorm(self.word_embeddings(pieces) + self.token_type_embeddings.weight[0] + places)


class Output(nn.Module):
    """A linear map, added to what went into the block before it, and normed."""

    def __init__(self, width):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, WIDTH), nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, hidden, x):
        return self.LayerNorm(self.dense(hidden) + x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        attention = {name: nn.Linear(WIDTH, WIDTH) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(attention), "output": Output(WIDTH)})
        self.intermediate, self.output = nn.ModuleDict({"dense": nn.Linear(WIDTH, INNER)}), Output(INNER)

    def forward(self, x, mask):
        parts = [part(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.attention["self"].values()]
        seen = nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask).transpose(1, 2).flatten(-2)
        x = self.attention["output"](seen, x)
        return self.output(nn.functional.gelu(self.intermediate["dense"](x)), x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, pieces, is_there):
        """[sentences, length], numbers and which of them are there, to [sentences, WIDTH], each of length one."""
        x, there = self.embeddings(pieces), is_there.float().unsqueeze(-1)
        for layer in self.encoder["layer"]:
            x = layer(x, is_there[:, None, None])
        return nn.functional.normalize((x * there).sum(1) / there.sum(1), dim=1)


def load_encoder(model, device="cpu"):
    encoder = Encoder().to(device).eval()
    # The file also has the numbers of positions, which are counted here, and a pooler that this model does not use.
    missing, _ = encoder.load_state_dict(bp.load_file(str(Path(model, "model.safetensors"))), strict=False)
    assert not missing, missing
    return encoder


def batch_of(texts, tokenizer, device="cpu"):
    """(numbers, which of them are there), filled up with 0, which is [PAD]."""
    rows = [tokenizer(text) for text in texts]
    numbers = bp.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows], device=device)
    return numbers, numbers != 0


def main(model, text=Path(__file__).parents[1] / "sentences/sentences.txt", device="cpu"):
    lines = [line for line in Path(text).read_text(encoding="utf-8").splitlines() if line]
    encoder = load_encoder(model, device)
    with bp.inference_mode():
        vectors = encoder(*batch_of(lines, Tokenizer(Path(model, "vocab.txt")), device))
        cosines = vectors @ vectors.T - 2 * bp.eye(len(lines), device=device)  # nobody is near to itself
        cosine, place = cosines.max(1)
    for line, value, near in zip(lines, cosine.tolist(), place.tolist()):
        print(f"{line}\n  {value:.3f}  {lines[near]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
