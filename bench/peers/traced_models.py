"""The models that trace_ops.py runs, with random weights and few layers, and the ATen operators that each of them calls.

Each model runs forward and backward in training, forward in evaluation, and generates a few tokens if it can. Operators
are seen below autograd, as a backend sees them: what PyTorch itself takes apart before (`linear`), it has taken apart.
"""

from collections import defaultdict

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode


class Recorder(TorchDispatchMode):
    """Writes down the name of each operator that is called while it is active, as "aten::add_"."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func._schema.name)
        return func(*args, **(kwargs or {}))


def operators_met():
    """{operator: names of the models that call it, sorted}"""
    met = defaultdict(list)
    for model in sorted(MODELS):
        torch.manual_seed(0)
        with Recorder() as recorder:
            MODELS[model]()
        for name in recorder.names:
            met[name].append(model)
    return met


def resnet50():
    classify_images(torchvision.models.resnet50(num_classes=5))


def efficientnet():
    classify_images(torchvision.models.efficientnet_b0(num_classes=5))


def vit_b_16():
    classify_images(torchvision.models.vit_b_16(image_size=32, num_classes=5), size=32)


def convnext():
    classify_images(torchvision.models.convnext_tiny(num_classes=5))


def unet():
    model, images = UNet(), torch.rand(2, 3, 32, 32)
    labels = torch.randint(3, (2, 32, 32))
    train_and_evaluate(model, lambda: F.cross_entropy(model(images), labels), lambda: model(images).argmax(1))


def detector():
    """One that proposes regions and one that does not; both with a pyramid of features."""
    make = torchvision.models.detection
    sizes = {"weights": None, "weights_backbone": None, "num_classes": 3, "min_size": 64, "max_size": 64}
    image = torch.rand(3, 64, 64)
    target = {"boxes": torch.tensor([[4.0, 4.0, 40.0, 40.0], [20.0, 8.0, 60.0, 50.0]]), "labels": torch.tensor([1, 2])}
    for model in (make.fasterrcnn_mobilenet_v3_large_320_fpn(**sizes), make.retinanet_resnet50_fpn(**sizes)):
        train_and_evaluate(model, lambda: sum(model([image], [target]).values()), lambda: model([image]))


def bert():
    config = transformers.BertConfig(**layers_of("hidden_size", "num_hidden_layers", "num_attention_heads"),
                                     intermediate_size=32, vocab_size=50)  # fmt: skip
    train_text(transformers.BertForMaskedLM(config))
    train_text(transformers.BertForSequenceClassification(config), labels=torch.tensor([0, 1]))


def gpt2():
    config = transformers.GPT2Config(**layers_of("n_embd", "n_layer", "n_head"), n_positions=32, vocab_size=50, **SPECIAL)
    train_text(transformers.GPT2LMHeadModel(config), generates=True)


def llama():
    config = transformers.LlamaConfig(**layers_of("hidden_size", "num_hidden_layers", "num_attention_heads"),
                                      num_key_value_heads=1, intermediate_size=32, vocab_size=50, **SPECIAL)  # fmt: skip
    train_text(transformers.LlamaForCausalLM(config), generates=True)


def t5():
    config = transformers.T5Config(**layers_of("d_model", "num_layers", "num_heads"), d_kv=8, d_ff=32, vocab_size=50,
                                   decoder_start_token_id=0)  # fmt: skip
    train_text(transformers.T5ForConditionalGeneration(config), generates=True)


def wav2vec2():
    config = transformers.Wav2Vec2Config(
        **layers_of("hidden_size", "num_hidden_layers", "num_attention_heads"), intermediate_size=32, vocab_size=12,
        conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 4), num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2, mask_time_length=2)  # fmt: skip
    model = transformers.Wav2Vec2ForCTC(config)
    sound, labels = torch.randn(2, 1600), torch.randint(1, 12, (2, 6))
    mask = torch.ones(2, 1600, dtype=torch.long)
    mask[1, 1200:] = 0
    train_and_evaluate(model, lambda: model(sound, attention_mask=mask, labels=labels).loss,
                       lambda: model(sound).logits.argmax(-1))  # fmt: skip


def whisper():
    config = transformers.WhisperConfig(
        d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=20, max_target_positions=20,
        vocab_size=50, decoder_start_token_id=1, **SPECIAL)  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config)
    sound, labels = torch.randn(2, 8, 40), torch.randint(1, 50, (2, 6))
    train_and_evaluate(model, lambda: model(sound, labels=labels).loss, lambda: model.generate(sound, max_new_tokens=4))


def clip():
    text = {**layers_of("hidden_size", "num_hidden_layers", "num_attention_heads"), "intermediate_size": 32,
            "vocab_size": 50, "eos_token_id": 2}  # fmt: skip
    image = {**layers_of("hidden_size", "num_hidden_layers", "num_attention_heads"), "intermediate_size": 32,
             "image_size": 32, "patch_size": 16}  # fmt: skip
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=16))
    words, images = torch.randint(3, 50, (2, 8)), torch.rand(2, 3, 32, 32)
    train_and_evaluate(model, lambda: model(words, images, return_loss=True).loss,
                       lambda: model(words, images).logits_per_image.softmax(1))  # fmt: skip


def lstm():
    run_recurrent(nn.LSTM)


def gru():
    run_recurrent(nn.GRU)


MODELS = {run.__name__: run for run in (resnet50, efficientnet, vit_b_16, convnext, unet, detector, bert, gpt2, llama, t5,
                                        wav2vec2, whisper, clip, lstm, gru)}  # fmt: skip
SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


class UNet(nn.Module):
    """As in Ronneberger, Fischer and Brox, 2015, with two steps down; one goes up again by convolution, one by resampling."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([self.block(3, 8), self.block(8, 16), self.block(16, 32)])
        self.rise = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(16, 8, 1)])
        self.up = nn.ModuleList([self.block(32, 16), self.block(16, 8)])
        self.head = nn.Conv2d(8, 3, 1)

    @staticmethod
    def block(before, after):
        layers = [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, nn.Conv2d(after, after, 3, padding=1), nn.ReLU(inplace=True))

    def forward(self, images):
        first = self.down[0](images)
        second = self.down[1](F.max_pool2d(first, 2))
        third = self.down[2](F.max_pool2d(second, 2))
        second = self.up[0](torch.cat([second, self.rise[0](third)], 1))
        risen = F.interpolate(self.rise[1](second), scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.up[1](torch.cat([first, risen], 1)))


def layers_of(width, depth, heads):
    """The sizes of a small transformer, under the names that its configuration has for them."""
    return {width: 16, depth: 2, heads: 2}


def classify_images(model, size=64):
    images, labels = torch.rand(2, 3, size, size), torch.tensor([1, 3])
    train_and_evaluate(model, lambda: F.cross_entropy(model(images), labels), lambda: model(images).softmax(1))


def train_text(model, labels=None, generates=False):
    words = torch.randint(3, 50, (2, 8))
    mask = torch.ones_like(words)
    mask[1, :3] = 0
    labels = words if labels is None else labels

    def evaluate():
        if not generates:
            return model(words, attention_mask=mask)
        model.generate(words, attention_mask=mask, max_new_tokens=4)
        model.generate(words, attention_mask=mask, max_new_tokens=4, do_sample=True, top_k=5, top_p=0.9)

    train_and_evaluate(model, lambda: model(words, attention_mask=mask, labels=labels).loss, evaluate)


def run_recurrent(kind):
    model = kind(8, 16, num_layers=2, dropout=0.1, bidirectional=True, batch_first=True)
    steps = torch.randn(3, 6, 8)
    packed = nn.utils.rnn.pack_padded_sequence(steps, torch.tensor([6, 4, 3]), batch_first=True)
    train_and_evaluate(model, lambda: model(steps)[0].square().mean(), lambda: model(steps))
    train_and_evaluate(model, lambda: model(packed)[0].data.square().mean(),
                       lambda: nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True))  # fmt: skip


def train_and_evaluate(model, loss, evaluate):
    model.train()
    loss().backward()
    model.eval()
    with torch.no_grad():
        evaluate()
