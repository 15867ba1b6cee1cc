#!/usr/bin/env python3
"""The vectors of examples/sentences against PyTorch's, and its tokens against those of the package `tokenizers`.

Usage: compare_sentences.py --build BUILD. Ends with 77 where PyTorch or the model is not to be had.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers/venv/bin/python"  # made by ./dev bench
SKIPPED = 77

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    if PEERS.exists() and Path(sys.executable) != PEERS:
        os.execv(PEERS, [str(PEERS), *sys.argv])
    print("sentences: skipped: there is no PyTorch here; ./dev bench --peer pytorch installs it")
    sys.exit(SKIPPED)

TOLERANCE = 1e-5  # of vectors of length one
LAYERS, HEADS, WIDTH = 6, 12, 384


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build
    program = build / "bin/sentences"
    if not program.exists():
        skip("the examples are not built")
    fetched = subprocess.run([ROOT / "examples/sentences/fetch_model"], capture_output=True, text=True)
    if fetched.returncode != 0:
        skip(f"the model can't be fetched: {fetched.stderr.strip()[-300:]}")
    compare(program, Path(fetched.stdout.strip()))


def skip(why):
    print(f"sentences: skipped: {why}")
    sys.exit(SKIPPED)


def compare(program, model):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([program, "--model", model, "--json", report.name], check=True, stdout=subprocess.DEVNULL)
        ours = json.load(report)
    lines = [line for line in (ROOT / "examples/sentences/sentences.txt").read_text().splitlines() if line]
    if len(ours) != len(lines) or len(lines) < 100:
        sys.exit(f"{len(ours)} vectors of {len(lines)} sentences; at least 100 are expected")
    wrong = [f"'{line}' is {each['pieces']}, {theirs} by tokenizers"
             for line, each, theirs in zip(lines, ours, tokens_of(lines, model)) if each["pieces"] != theirs]
    weights = read_safetensors(model / "model.safetensors")
    for line, each in zip(lines, ours):
        expected = encode(weights, torch.tensor([each["pieces"]]))[0]
        difference = (torch.tensor(each["vector"], dtype=torch.float64) - expected).abs().max().item()
        if not difference <= TOLERANCE:
            wrong.append(f"the vector of '{line}' differs by {difference:.3g}; at most {TOLERANCE:g} is allowed")
    print("\n".join(wrong) or f"{len(lines)} sentences: the same tokens, vectors within {TOLERANCE:g}")
    sys.exit(1 if wrong else 0)


def tokens_of(lines, model):
    """By the package's own reader of the model's tokenizer.json."""
    sys.path.append(str(model.parents[1]))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    return [tokenizer.encode(line).ids for line in lines]


def read_safetensors(file):
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"]).double()
    return tensors


def encode(w, pieces):
    """BERT in float64, of one sentence at a time, so that nothing is padded; the mean of all places, of length one."""
    def linear(x, name):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[f"{name}.LayerNorm.weight"], w[f"{name}.LayerNorm.bias"], 1e-12)

    def heads(x):
        return x.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)

    x = w["embeddings.word_embeddings.weight"][pieces] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + w["embeddings.position_embeddings.weight"][: pieces.shape[1]], "embeddings")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        q, k, v = (heads(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        shares = torch.softmax(q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5, -1)
        seen = (shares @ v).transpose(1, 2).flatten(-2)
        x = norm(x + linear(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output")
        inner = F.gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output")
    return F.normalize(x.mean(1), dim=1)


if __name__ == "__main__":
    main()
