"""Models of torchvision and transformers, small and with random weights, as a program that uses them builds and calls them.

    python bridges/torch/tests/library_models.py [--device backplane:0] [--time] [MODEL ...]

says how far three training steps on a device are from PyTorch's CPU, and whether generation gives the same words.
"""

import argparse
import functools
import statistics
import time
from dataclasses import dataclass
from typing import Callable

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional as F

SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "vocab_size": 50}


@dataclass
class Problem:
    model: nn.Module
    inputs: dict
    loss: Callable  # (model, inputs) to a loss
    generate: Callable | None = None  # (model, inputs) to words


def resnet18(zero_init_residual=True, batch=4):
    """Branches that begin at zero: otherwise few images amplify rounding, and even PyTorch's CPU is off by 2e-3 (ResNet-50: 0.1)
    from its own float64 after three steps."""
    return images(torchvision.models.resnet18(num_classes=10, zero_init_residual=zero_init_residual), 64, batch)


def resnet50(zero_init_residual=True):
    return images(torchvision.models.resnet50(num_classes=10, zero_init_residual=zero_init_residual), 64, 4)


def vit_b_16():
    """The whole of its kind would be 86 million weights: fewer layers, as its own class takes them."""
    sizes = {"image_size": 32, "patch_size": 16, "num_layers": 2, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 3072}
    return images(torchvision.models.VisionTransformer(**sizes, num_classes=10), 32, 2)


def images(model, size, batch):
    inputs = {"images": torch.rand(batch, 3, size, size), "labels": torch.arange(batch) % 10}
    return Problem(model, inputs, lambda model, inputs: F.cross_entropy(model(inputs["images"]), inputs["labels"]))


class Recurrent(nn.Module):
    """Sequences of several lengths, packed, through an LSTM of two layers, both ways."""

    def __init__(self, words=50, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.cells = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * width, words)

    def forward(self, words, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True)
        return self.head(nn.utils.rnn.pad_packed_sequence(self.cells(packed)[0], batch_first=True)[0])


def lstm():
    words, lengths = torch.randint(1, 50, (3, 8)), torch.tensor([8, 6, 3])  # PyTorch takes the lengths on the CPU

    def loss(model, inputs):
        return F.cross_entropy(model(inputs["words"], lengths).flatten(0, 1), inputs["words"].flatten())

    return Problem(Recurrent(), {"words": words}, loss)


def bert(width=32, layers=2, heads=4, length=12, batch=3, **more):
    config = transformers.BertConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                                     intermediate_size=4 * width, **SPECIAL, **more)  # fmt: skip
    return text(transformers.BertForMaskedLM(config), length, batch)


def gpt2(**more):
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **SPECIAL, **more)
    return text(transformers.GPT2LMHeadModel(config), generates=True)


def llama(**more):
    config = transformers.LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                      intermediate_size=64, **SPECIAL, **more)  # fmt: skip
    return text(transformers.LlamaForCausalLM(config), generates=True)


def t5(**more):
    config = transformers.T5Config(d_model=32, num_layers=2, num_heads=4, d_kv=8, d_ff=64, decoder_start_token_id=0,
                                   **SPECIAL, **more)  # fmt: skip
    return text(transformers.T5ForConditionalGeneration(config), generates=True)


def text(model, length=12, batch=3, generates=False):
    words = torch.randint(3, 50, (batch, length))
    mask = torch.ones_like(words)
    mask[1, :3] = 0  # one text is shorter

    def loss(model, inputs):
        return model(**inputs, labels=inputs["input_ids"]).loss

    def generate(model, inputs):
        return model.generate(**inputs, max_new_tokens=8, do_sample=False)

    return Problem(model, {"input_ids": words, "attention_mask": mask}, loss, generate if generates else None)


def whisper(**more):
    config = transformers.WhisperConfig(
        d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=20, max_target_positions=20,
        decoder_start_token_id=1, **SPECIAL, **more)  # fmt: skip
    inputs = {"input_features": torch.randn(2, 8, 40), "labels": torch.randint(3, 50, (2, 6))}
    return Problem(
        transformers.WhisperForConditionalGeneration(config),
        inputs,
        lambda model, inputs: model(**inputs).loss,
        lambda model, inputs: model.generate(inputs["input_features"], max_new_tokens=8),
    )


MODELS = {make.__name__: make for make in (resnet18, resnet50, vit_b_16, lstm, bert, gpt2, llama, t5, whisper)}
# Dropout draws other numbers on each device: left out where steps are compared.
WITHOUT_DROPOUT = {
    "bert": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "t5": {"dropout_rate": 0.0},
}
# Without training, a T5 of the usual scale only repeats its first word.
TO_GENERATE = {"t5": {"initializer_factor": 3.0}}
# Sizes whose steps are not mainly overhead. Timed as the models train by default, with dropout where they have it.
TO_TIME = {"bert": {"width": 256, "layers": 4, "length": 128, "batch": 4}}


def problem(name, dropout=False, **more):
    """The same each time."""
    torch.manual_seed(0)
    return MODELS[name](**({} if dropout else WITHOUT_DROPOUT.get(name, {})), **more)


def train(name, device, steps=3, rate=0.01, dtype=torch.float32, **more):
    """The losses of the steps, and the trained model."""
    given = problem(name, **more)
    model = given.model.to(device, dtype).train()
    inputs = {key: values.to(device, dtype if values.is_floating_point() else None) for key, values in given.inputs.items()}
    stepper, losses = torch.optim.SGD(model.parameters(), rate, momentum=0.9), []
    for _ in range(steps):
        losses.append(step(model, inputs, given.loss, stepper).item())
    return losses, model


def step(model, inputs, loss_of, stepper):
    stepper.zero_grad()
    loss = loss_of(model, inputs)
    loss.backward()
    stepper.step()
    return loss


def generate(name, device):
    """Words by greedy search, with a cache of keys and values; None: the model gives no words."""
    given = problem(name, **TO_GENERATE.get(name, {}))
    if given.generate is None:
        return None
    inputs = {key: values.to(device) for key, values in given.inputs.items()}
    return given.generate(given.model.to(device).eval(), inputs).cpu().tolist()


def compare(name, device):
    """One line."""
    expected, _ = train(name, "cpu")
    losses, _ = train(name, device)
    words = generate(name, device)
    said = "" if words is None else ", the same words" if words == generate(name, "cpu") else ", OTHER WORDS"
    return f"{name}: losses differ by {max(abs(a - b) for a, b in zip(losses, expected)):.1e}{said}"


def step_times(name, device, seconds=10, **more):
    """Medians in ms of one step here and on PyTorch's CPU, by turns of a second: threads of the one spin for a while, where the
    other's would compute."""
    steps, times = {}, {device: [], "cpu": []}
    for place in times:
        given = problem(name, **more)
        model = given.model.to(place).train()
        inputs = {key: values.to(place) for key, values in given.inputs.items()}
        stepper = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)
        steps[place] = functools.partial(step, model, inputs, given.loss, stepper)
        for _ in range(3):
            steps[place]().item()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for place, run in steps.items():
            run().item()
            turn = time.monotonic() + 1
            while time.monotonic() < turn:
                begin = time.perf_counter()
                run().item()  # waits for the device
                times[place].append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[device]), statistics.median(times["cpu"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--device", default="backplane:0")
    parser.add_argument("--time", action="store_true", help="time one step of each, beside PyTorch's CPU")
    options = parser.parse_args()
    import backplane_torch

    for name in options.models or MODELS:
        if options.time:
            ours, theirs = step_times(name, options.device, dropout=True, **TO_TIME.get(name, {}))
            print(f"{name}: {ours:.2f} ms beside {theirs:.2f} ms, {ours / theirs:.2f}", flush=True)
        else:
            backplane_torch.reset_cpu_calls()
            print(f"{compare(name, options.device)}; on PyTorch's CPU: {backplane_torch.cpu_calls() or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
