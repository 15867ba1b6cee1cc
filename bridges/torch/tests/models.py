"""Small networks of the kinds that are used, in plain PyTorch: what a stranger's program looks like."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.short = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)), inplace=True)
        return F.relu(self.second_norm(self.second(y)) + self.short(x))


class ResNet18(nn.Module):
    """As in the paper, with `width` channels at first in place of 64."""

    def __init__(self, width=64, classes=10):
        super().__init__()
        self.begin = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        blocks, channels = [], width
        for stage in range(4):
            for place in range(2):
                outputs = width << stage
                blocks.append(Block(channels, outputs, 2 if stage and place == 0 else 1))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.end = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))

    def forward(self, x):
        return self.end(self.blocks(self.begin(x)))


class Bert(nn.Module):
    """An encoder with learned positions, and a head over each place."""

    def __init__(self, words=50, width=32, heads=4, layers=2, length=16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width, padding_idx=0), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places))
        return self.head(self.layers(x, src_key_padding_mask=tokens == 0)).flatten(0, 1)


class Gpt(nn.Module):
    """A causal decoder, its attention by scaled_dot_product_attention."""

    def __init__(self, words=50, width=32, heads=4, layers=2, length=16):
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.parts = nn.ModuleList(
            nn.ModuleList(
                [nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width),
                 nn.Linear(width, 4 * width), nn.Linear(4 * width, width)]
            )
            for _ in range(layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(width)

    def attended(self, x, into, out):
        batch, length, width = x.shape
        q, k, v = into(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for norm, into, out, second_norm, up, down in self.parts:
            x = x + self.attended(norm(x), into, out)
            x = x + down(F.gelu(up(second_norm(x)), approximate="tanh"))
        return (self.norm(x) @ self.words.weight.t()).flatten(0, 1)

    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            logits = self(tokens).view(*tokens.shape, -1)[:, -1]
            tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], 1)
        return tokens


class Recurrent(nn.Module):
    """Words through an LSTM or a GRU of two layers, both ways."""

    def __init__(self, kind=nn.LSTM, words=50, width=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.cells = kind(width, width, 2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * width, words)

    def forward(self, tokens):
        return self.head(self.cells(self.words(tokens))[0]).flatten(0, 1)


def problem(name):
    """(network, input, target), the same each time."""
    torch.manual_seed(0)
    if name == "resnet18":
        return ResNet18(8), torch.randn(4, 3, 64, 64), torch.tensor([1, 2, 3, 4])
    tokens = torch.randint(1, 50, (4, 16))
    networks = {"bert": Bert, "gpt": Gpt, "lstm": Recurrent, "gru": lambda: Recurrent(nn.GRU)}
    return networks[name](), tokens, torch.randint(0, 50, (64,))


def train(name, device, steps=3, optimizer=None):
    """The losses of the steps, and the parameters after them."""
    network, inputs, target = problem(name)
    network, inputs, target = network.to(device), inputs.to(device), target.to(device)
    make = optimizer or (lambda parameters: torch.optim.SGD(parameters, 0.01, momentum=0.9))
    stepper, losses = make(network.parameters()), []
    for _ in range(steps):
        stepper.zero_grad()
        loss = F.cross_entropy(network(inputs), target)
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in network.parameters()]
