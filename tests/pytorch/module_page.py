"""Writes docs/nn.md of what compare_modules.py found, and says whether the page is current."""

import inspect
import json
import subprocess

import torch

from compare_rows import ROOT

PAGE = ROOT / "docs/nn.md"
MOST_ABSENT = 0.05
HEAD = """# Modules of torch.nn

Each public class of `torch.nn` {version}, in the order of PyTorch's files. Each is in `bp::nn` under the same name, under another
name, or absent for a reason. `tests/pytorch/compare_modules.py --write` makes this page.

A case makes the module on both sides with the same arguments in float64, copies the state, and compares the keys, shapes and order of the
`state_dict`, what `extra_repr` prints, the results, the gradients of inputs and parameters, and the state after the call, all to
{relative:g} of the largest element. Modules that draw random numbers are
tested for what must hold in training mode: which values can occur, and how often. Lazy modules are compared after a first call, which is
`materialize` here.

```sh
tests/pytorch/compare_modules.py --module Conv2d --verbose    # one module, every case that differs
```

**{here} of {total} are here, {renamed} under another name or form, {absent} absent ({percent:.1f} %); {cases} cases agree.**

## Let layers find the size of their input

`LazyLinear`, `LazyConv2d` and the other lazy layers take no `in_features` or `in_channels`. Give them an input once, before
you make the optimizer:

```cpp
nn::Sequential net(nn::LazyConv2d(8, 3), nn::ReLU(), nn::Flatten(), nn::LazyLinear(10));
nn::materialize(net, images);                     // one call in evaluation, without recording
optim::SGD optimizer(net.parameters(), {{.lr = 0.1}});
```

From then on each of them is a `Linear`, a `Conv2d` and so on, and prints and saves as one. `load_state_dict` gives them their sizes too.
Until then they have no parameters: an optimizer would not train them, and a call throws an error that names the layer.
"""

TAIL = """
## What goes wrong

| what you see | why | what to do |
|---|---|---|
| "encoder.layer.2.query: linear: input of shape [2, 5] has 5 features and weight of shape [4, 3] takes 3; make them equal" | the layer's input has another size than the layer was made for | the message begins with the layer's path; print the model to see its sizes |
| "linear: 'input' is on reference:0 and 'weight' is on cpu:0; move one with to()" | the model and its input are on different devices | `model.to(device)`, or `to(x, device)` |
| "linear: input is float64 and weight is float32; cast one of them" | the input has another dtype than the parameters | `cast(x, f32)`, or `model.to(f64)` |
| "LazyLinear: its parameters wait for the size of the input; call nn::materialize(model, x) first, ..." | a lazy layer was called before it had sizes | `nn::materialize(model, x)`, before the optimizer is made |
| "load_state_dict: the dict does not fit the module, and nothing was loaded; ..." | keys are missing, unexpected or have another shape; the lines below list them | load into the same modules; `strict = false` only tolerates other keys |
| "Module::to: int32 is not a dtype for parameters; ..." | parameters must be floating-point or complex | cast the input instead |
| a parameter is not trained or saved | `list_parts` does not name the member | add it there |
| results differ from batch to batch in evaluation | dropout and batch norm are in training mode | `model.eval()` |
"""

# What PyTorch has under a name that we do not.
RENAMED = {
    "Buffer": "a member that `list_parts` names with `parts.buffer`",
    "Container": "`Module`; PyTorch keeps it for old code",
    "CrossMapLRN2d": "`LocalResponseNorm`; PyTorch's legacy layer never removes the first channel from its window",
    "NLLLoss2d": "`NLLLoss`, as in PyTorch, where it is an old name",
    "Module": "`Module`, the base of all",
    "Parameter": "`Parameter`",
    "RNNBase": "the base of `RNN`, `LSTM` and `GRU`, which is not used by itself",
    "RNNCellBase": "the base of `RNNCell`, `LSTMCell` and `GRUCell`, which is not used by itself",
    "ModuleDict": "`ModuleDict`",
    "ModuleList": "`ModuleList`",
    "ParameterDict": "`ParameterDict`",
    "ParameterList": "`ParameterList`",
    "Sequential": "`Sequential`",
    "LinearCrossEntropyOptions": "nothing to choose: `LinearCrossEntropyLoss` computes in one piece",
}
# What a reader of the page should know of the comparison.
NOTES = {
    "CTCLoss": "its gradient is compared through `log_softmax`, which removes what PyTorch's has in addition",
    "Upsample": "where a size stays or doubles, and the factor says otherwise, PyTorch's `nearest` in one and three dimensions has the "
    "derivative of another function; here the derivative is that of the function itself",
}
NO_SIZE = "a tensor without a size yet is an undefined one, which a module does not list; `materialize` replaces it"
ABSENT = {
    "DataParallel": "distributed training is not supported yet; PyTorch advises against it",
    "SyncBatchNorm": "distributed training is not supported yet; in one process it is `BatchNorm1d` to `3d`",
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
    return head + "\n".join(lines) + "\n" + TAIL, unknown


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
