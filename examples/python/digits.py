"""Learns to read handwritten digits, on any device: digits.py [DEVICE]"""

import csv
import sys
from pathlib import Path

import backplane as bp
from backplane import nn, optim
from backplane.data import DataLoader, TensorDataset

device = sys.argv[1] if len(sys.argv) > 1 else "cpu:0"
rows = [list(map(int, row)) for row in csv.reader(open(Path(__file__).parents[1] / "digits" / "digits.csv"))]
table = bp.tensor(rows, dtype=bp.float32)
pictures, digits = table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64].long()
held_out = bp.arange(len(rows)) % 5 == 0

bp.manual_seed(1)
model = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 16, 10),
).to(device)
optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
loader = DataLoader(TensorDataset(pictures[~held_out], digits[~held_out]), batch_size=64, shuffle=True)
for epoch in range(12):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")

model.eval()
with bp.no_grad():
    right = model(pictures[held_out].to(device)).argmax(1).cpu() == digits[held_out]
print(f"{right.float().mean().item():.1%} of {len(right)} held-out digits are read on {device}")
