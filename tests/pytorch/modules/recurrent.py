import torch

from modules.cases import Case, case, normal

rnn = torch.nn.utils.rnn
VARIANTS = [{}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True}, {"bias": False},
            {"batch_first": True, "num_layers": 2, "bidirectional": True}]  # fmt: skip
PROJECTED = [{**one, "proj_size": 2} for one in VARIANTS]
# Sorted, and not; lengths that end together.
LENGTHS = [[5, 3, 3, 1], [2, 5, 1, 5]]


def called(module, inputs):
    """Inputs: what is read, the first hidden state, the cell state or None, and lengths or None."""
    input, hidden, cell, lengths = inputs
    states = None if hidden is None else hidden if cell is None else (hidden, cell)
    if lengths is None:
        return module(input, states)
    is_sorted = lengths.tolist() == sorted(lengths.tolist(), reverse=True)
    packed = rnn.pack_padded_sequence(input, lengths, module.batch_first, enforce_sorted=is_sorted)
    output, last = module(packed, states)
    padded, lengths = rnn.pad_packed_sequence(output, module.batch_first, padding_value=0.5, total_length=6)
    return [output.data, output.batch_sizes, padded, lengths, last]


def recurrent(name, kwargs, has_states=True, lengths=None, is_batched=True, training=(True, False)):
    runs = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    features = kwargs.get("proj_size", 0) or 4

    def inputs():
        shape = (4, 5, 3) if kwargs.get("batch_first") else (5, 4, 3)
        batch = (4,) if is_batched else ()
        states = [None, None]
        if has_states:
            states = [normal(runs, *batch, features), normal(runs, *batch, 4) if name == "LSTM" else None]
        return [normal(*(shape if is_batched else (5, 3))), *states, None if lengths is None else torch.tensor(lengths)]

    args = {"input_size": 3, "hidden_size": 4, **kwargs}
    return [Case(name, args, inputs, mode, called=called) for mode in training]


def all_recurrent(name, variants):
    cases = []
    for kwargs in variants:
        cases += recurrent(name, kwargs)
        cases += recurrent(name, kwargs, has_states=False)
        cases += recurrent(name, kwargs, is_batched=False)
        for lengths in LENGTHS:
            cases += recurrent(name, kwargs, lengths=lengths)
        cases += recurrent(name, kwargs, has_states=False, lengths=LENGTHS[1])
    return cases + recurrent(name, {"num_layers": 2, "dropout": 0.5}, training=(False,))


def called_cell(module, inputs):
    input, hidden, cell = inputs
    return module(input, None if hidden is None else hidden if cell is None else (hidden, cell))


def cells(name, **kwargs):
    cases = []
    for batch in [(2,), ()]:
        states = [(*batch, 4), (*batch, 4) if name == "LSTMCell" else None]
        for given in [states, [None, None]]:
            cases += case(name, 3, 4, of=[(*batch, 3), *given], called=called_cell, **kwargs)
    return cases


CASES = [
    *all_recurrent("RNN", [*VARIANTS, {"nonlinearity": "relu"}]),
    *all_recurrent("LSTM", [*VARIANTS, *PROJECTED]),
    *all_recurrent("GRU", VARIANTS),
    *cells("RNNCell"), *cells("RNNCell", nonlinearity="relu"), *cells("RNNCell", bias=False),
    *cells("LSTMCell"), *cells("LSTMCell", bias=False), *cells("GRUCell"), *cells("GRUCell", bias=False),
]  # fmt: skip
