"""Writes docs/nn.md of what compare_modules.py found, and says whether the page is current."""

import inspect
import json
import subprocess

import torch

from compare_rows import ROOT

PAGE = ROOT / "docs/nn.md"
MOST_ABSENT = 0.05
HEAD = """# Modules of torch.nn

Each public class of `torch.nn` {version}, in the order of PyTorch's files: here under the same name in `bp::nn`, here by another
name, or absent with the reason. `tests/pytorch/compare_modules.py --write` makes this page.

A case makes the module in both with the same arguments in float64, copies the state, and compares the keys, shapes and order of the
`state_dict`, what `extra_repr` prints, the results, the gradients of inputs and parameters, and the state after the call, all to
{relative:g} of the largest element. Modules that draw at random are held to what is certain of them in training: which values there can
be, and what part is which. Lazy modules are compared after a first call, which is `materialize` here.

```sh
tests/pytorch/compare_modules.py --module Conv2d --verbose    # one module, every case that differs
```

**{here} of {total} are here, {renamed} by another name or form, {absent} absent ({percent:.1f} %); {cases} cases agree.**

## Layers that find out the size of their input

`LazyLinear`, `LazyConv2d` and the others of that kind take no `in_features` or `in_channels`. Give them an input once, before
the optimizer is made:

```cpp
nn::Sequential net(nn::LazyConv2d(8, 3), nn::ReLU(), nn::Flatten(), nn::LazyLinear(10));
nn::materialize(net, images);                     // one call in evaluation, without recording
optim::SGD optimizer(net.parameters(), {{.lr = 0.1}});
```

From then on each is a `Linear`, a `Conv2d` and so on, and prints and saves as one. `load_state_dict` gives them their sizes too.
Before, they have no parameters: an optimizer made then would not train them, and a call throws an error that names the layer.
"""

# What PyTorch has under a name that we do not.
RENAMED = {
    "Buffer": "a member that `list_parts` names with `parts.buffer`",
    "Container": "`Module`; PyTorch keeps it for old code",
    "CrossMapLRN2d": "`LocalResponseNorm`; PyTorch's legacy layer never takes the first channel out of its window",
    "NLLLoss2d": "`NLLLoss`, as in PyTorch, where it is an old name",
    "Module": "`Module`, the base of all",
    "Parameter": "`Parameter`",
    "RNNBase": "the base of `RNN`, `LSTM` and `GRU`, which nobody makes",
    "RNNCellBase": "the base of `RNNCell`, `LSTMCell` and `GRUCell`, which nobody makes",
    "ModuleDict": "`ModuleDict`",
    "ModuleList": "`ModuleList`",
    "ParameterDict": "`ParameterDict`",
    "ParameterList": "`ParameterList`",
    "Sequential": "`Sequential`",
    "LinearCrossEntropyOptions": "nothing to choose: `LinearCrossEntropyLoss` computes in one piece",
}
# What a reader of the page should know of the comparison.
NOTES = {
    "CTCLoss": "its gradient is compared through `log_softmax`, which takes off what PyTorch's has besides",
    "Upsample": "where a size stays or doubles, and the factor says otherwise, PyTorch's `nearest` of one and three dimensions has the "
    "derivative of another function; ours is its own",
}
NO_SIZE = "a tensor without a size yet is an undefined one, which a module does not list; `materialize` replaces it"
ABSENT = {
    "DataParallel": "distribution is a room of its own, which is not here yet; PyTorch advises against it",
    "SyncBatchNorm": "distribution is a room of its own, which is not here yet; in one process it is `BatchNorm1d` to `3d`",
    "UninitializedBuffer": NO_SIZE,
    "UninitializedParameter": NO_SIZE,
}


def public_classes():
    """{name: the file that has it}, in the order of files and names."""
    classes = {name: one for name, one in vars(torch.nn).items() if inspect.isclass(one) and not name.startswith("_")}
    return {name: one.__module__.rpartition(".")[2] for name, one in
            sorted(classes.items(), key=lambda item: (item[1].__module__, item[0]))}  # fmt: skip


def page(agree, known, relative):
    """The text, and the names of classes that nobody accounts for."""
    classes, lines, unknown, absent = public_classes(), [], [], []
    for family in dict.fromkeys(classes.values()):
        lines += [f"\n## {family}\n", "| torch.nn | here | cases |", "|---|---|--:|"]
        for name in (name for name, where in classes.items() if where == family):
            if agree[name]:
                what, off, why = known.get(name, ("", 0, ""))
                remarks = [f"{what} to {off:g}: {why}"] * bool(what) + ([NOTES[name]] if name in NOTES else [])
                lines.append(f"| `{name}` | {'; '.join(['yes', *remarks])} | {agree[name]} |")
            elif name in RENAMED:
                lines.append(f"| `{name}` | {RENAMED[name]} | |")
            elif reason := ABSENT.get(name):
                absent.append(name)
                lines.append(f"| `{name}` | absent: {reason} | |")
            else:
                unknown.append(name)
    renamed = sum(name in RENAMED and not agree[name] for name in classes)
    head = HEAD.format(
        version=torch.__version__.split("+")[0], relative=relative, total=len(classes), renamed=renamed, absent=len(absent),
        here=len(classes) - renamed - len(absent) - len(unknown), cases=agree.total(), percent=100 * len(absent) / len(classes))  # fmt: skip
    if len(absent) > MOST_ABSENT * len(classes):
        unknown.append(f"{len(absent)} absent of {len(classes)}, more than {MOST_ABSENT:.0%}")
    return head + "\n".join(lines) + "\n", unknown


def without_version(text):
    """Another PyTorch of the same classes makes the same page."""
    return text.replace(f"`torch.nn` {torch.__version__.split('+')[0]}", "`torch.nn`")


def is_current(agree, known, relative, write, build):
    text, unknown = page(agree, known, relative)
    made = json.loads(subprocess.run([build / "tests/run_modules", "--names"], check=True, capture_output=True).stdout)
    unknown += [f"{name} is made by run_modules and has no case" for name in made if not agree[name]]
    for problem in unknown:
        print(f"docs/nn.md: {problem}: neither compared nor listed in tests/pytorch/module_page.py")
    if write:
        PAGE.write_text(text)
    elif not PAGE.exists() or without_version(PAGE.read_text()) != without_version(text):
        print("docs/nn.md is stale; rewrite it with tests/pytorch/compare_modules.py --write")
        return False
    return not unknown
