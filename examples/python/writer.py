"""A small GPT that learns the letters of a text and then writes: writer.py [TEXT] [STEPS]"""

import sys

import backplane as bp
from backplane import nn, optim

path = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/common-licenses/GPL-3"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
WIDTH, HEADS, BLOCKS, CONTEXT, BATCH = 64, 4, 2, 64, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.parts(x).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.think(self.norm2(x))


class Writer(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters)

    def forward(self, x):
        seen = self.letters(x) + self.places(bp.arange(x.shape[1]))
        return self.scores(self.norm(self.blocks(seen)))

    @bp.no_grad()
    def write(self, begin, count):
        written = begin
        for _ in range(count):
            scores = self(written[-CONTEXT:].unsqueeze(0))[0, -1] / 0.7
            written = bp.cat([written, bp.multinomial(scores.softmax(-1), 1)])
        return written


text = open(path, encoding="utf-8").read()
alphabet = sorted(set(text))
numbers = {letter: number for number, letter in enumerate(alphabet)}
data = bp.tensor([numbers[letter] for letter in text])

bp.manual_seed(5)
model = Writer(len(alphabet))
optimizer = optim.AdamW(model.parameters(), lr=3e-3)
schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
print(f"{len(text)} letters, {len(alphabet)} kinds; {sum(p.numel() for p in model.parameters())} parameters")
for step in range(steps):
    starts = bp.randint(len(data) - CONTEXT - 1, (BATCH, 1))
    places = starts + bp.arange(CONTEXT)
    loss = nn.functional.cross_entropy(model(data[places]).flatten(0, 1), data[places + 1].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 100 == 0 or step == steps - 1:
        print(f"step {step}: loss {loss.item():.3f}")

print("".join(alphabet[n] for n in model.write(data[:CONTEXT], 200).tolist()))
