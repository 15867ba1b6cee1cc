"""RNN, LSTM and GRU over sequences of one length, or packed ones."""

from .. import _core
from . import init
from . import packed_runs as _runs
from .module import Module
from .parameter import Parameter
from .sizes import check_whole
from .utils.rnn import PackedSequence

_rows = _core.operators

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


class RNNBase(Module):
    """What the three hold and how they are called.

    Inputs are [steps, batch, input_size], [batch, steps, input_size] with `batch_first`, [steps, input_size], or a
    PackedSequence. First states are [layers * directions, batch, features], or without the batch; by default zeros.

    Args:
        num_layers: each takes what the one before gave. bias: whether there are biases.
        dropout: of each layer's results but the last's, in training. bidirectional: sequences are read from behind as
        well.
        proj_size: LSTM's results are projected to so many features; 0 for none.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, and so on for each layer, with "_reverse"
        behind the name for the other direction: [gates * hidden_size, features], [gates * hidden_size, hidden_size],
        [gates * hidden_size] and [proj_size, hidden_size], which begin uniform in +-1 / sqrt(hidden_size).
    """

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        layer = self._get_name()
        if mode not in _GATES:
            raise ValueError(f"{layer}: the mode is {mode!r}; pass one of {', '.join(map(repr, _GATES))}")
        self.mode = mode
        self.input_size = check_whole(layer, "input_size", input_size, 0)
        self.hidden_size = check_whole(layer, "hidden_size", hidden_size, 1)
        self.num_layers = check_whole(layer, "num_layers", num_layers, 1)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(f"{layer}: dropout is {dropout}; pass a probability from 0 to 1")
        if proj_size and (mode != "LSTM" or not 0 < proj_size < hidden_size):
            raise ValueError(
                f"{layer}: proj_size is {proj_size} and hidden_size {hidden_size}; only an LSTM projects, to fewer "
                "features"
            )
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._begin(device, dtype)

    def _begin(self, device, dtype):
        rows, features = _GATES[self.mode] * self.hidden_size, self.output_size
        self._all_weights = []
        for run in range(self.num_layers * self.num_directions):
            depth, is_reverse = divmod(run, self.num_directions)
            suffix = f"_l{depth}{'_reverse' if is_reverse else ''}"
            shapes = {
                "weight_ih": [rows, self.input_size if depth == 0 else features * self.num_directions],
                "weight_hh": [rows, features],
            }
            if self.bias:
                shapes.update(bias_ih=[rows], bias_hh=[rows])
            if self.proj_size:
                shapes["weight_hr"] = [self.proj_size, self.hidden_size]
            for name, shape in shapes.items():
                setattr(self, name + suffix, Parameter(_rows["empty"](shape, device=device, dtype=dtype)))
            self._all_weights.append([name + suffix for name in shapes])
        self.reset_parameters()

    num_directions = property(lambda self: 2 if self.bidirectional else 1)
    output_size = property(lambda self: self.proj_size or self.hidden_size)

    @property
    def all_weights(self):
        """The parameters of each layer and direction, as lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Does nothing here: the kernels take the weights as they lie."""

    def reset_parameters(self):
        """Draws new weights and biases."""
        bound = init.fan_in_bound(self.hidden_size)
        for weight in self.parameters():
            init.uniform_around_0(weight, bound)

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        layer = self._get_name()
        if not isinstance(input, _core.Tensor):
            raise TypeError(f"{layer}: the input must be a Tensor or a PackedSequence, not {type(input).__name__}")
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{layer}: the input has shape {list(input.shape)}; pass [steps, batch, {self.input_size}], or [steps, "
                f"{self.input_size}] without a batch"
            )
        if input.shape[-1] != self.input_size:
            raise ValueError(f"{layer}: the input has {input.shape[-1]} features, input_size is {self.input_size}")
        is_batched = input.ndim == 3
        batch_first = is_batched and self.batch_first
        batched = input if is_batched else input.unsqueeze(1)
        steps, batch = batched.shape[1 if batch_first else 0], batched.shape[0 if batch_first else 1]
        if steps == 0:
            raise ValueError(f"{layer}: the input has shape {list(input.shape)}, and no step; pass at least one")
        states = self._first_states(hx, input, batch, is_batched)
        if self.proj_size == 0:
            results = self.run_row(
                batched,
                states,
                batch_first,
                [name for names in self._all_weights for name in names],
                self.num_layers,
                self.bidirectional,
            )
        else:
            in_steps = batched.transpose(0, 1) if batch_first else batched
            output, *after = _runs.run_layers(
                self, in_steps.reshape([steps * batch, self.input_size]), [batch] * steps, states
            )
            output = output.reshape([steps, batch, output.shape[-1]])
            results = [output.transpose(0, 1) if batch_first else output, *after]
        if not is_batched:
            results = [each.squeeze(1) for each in results]
        return self._returned(results)

    def _returned(self, results):
        if self.mode == "LSTM":
            return results[0], (results[1], results[2])
        return results[0], results[1]

    def _forward_packed(self, input, hx):
        layer = self._get_name()
        data, batch_sizes, order, back = input
        if data.ndim != 2 or data.shape[1] != self.input_size:
            raise ValueError(
                f"{layer}: the packed input has shape {list(data.shape)}; pass [elements, {self.input_size}]"
            )
        sizes = _runs.checked_batch_sizes(layer, batch_sizes, data.shape[0])
        states = self._first_states(hx, data, sizes[0], True)
        if order is not None:
            states = [state.index_select(1, order) for state in states]
        output, *after = _runs.run_layers(self, data, sizes, states)
        if back is not None:
            after = [state.index_select(1, back) for state in after]
        return self._returned([PackedSequence(output, batch_sizes, order, back), *after])

    def _first_states(self, given, input, batch, is_batched):
        """[layers * directions, batch, features] each, zeros where none are given."""
        runs = self.num_layers * self.num_directions
        sizes = [self.output_size, self.hidden_size] if self.mode == "LSTM" else [self.output_size]
        if given is None:
            return [_rows["zeros"]([runs, batch, size], dtype=input.dtype, device=input.device) for size in sizes]
        layer = self._get_name()
        if self.mode == "LSTM" and (not isinstance(given, (tuple, list)) or len(given) != 2):
            raise TypeError(
                f"{layer}: the first states are a tuple of two tensors, hidden and cell; pass both, or None"
            )
        states = list(given) if self.mode == "LSTM" else [given]
        for name, state, size in zip(("hidden", "cell"), states, sizes):
            wanted = (runs, batch, size) if is_batched else (runs, size)
            if not isinstance(state, _core.Tensor):
                raise TypeError(f"{layer}: the {name} state must be a Tensor, not {type(state).__name__}")
            if tuple(state.shape) != wanted:
                raise ValueError(f"{layer}: the {name} state has shape {list(state.shape)}; pass one of {list(wanted)}")
        return states if is_batched else [state.unsqueeze(1) for state in states]

    def run_row(self, input, states, batch_first, names, num_layers, bidirectional):
        """The operator over [steps, batch, features] with the weights of these names."""
        first = states if self.mode == "LSTM" else states[0]
        values = self.__dict__
        params = [values[name] if name in values else getattr(self, name) for name in names]
        return _rows[self.mode.lower()](
            input, first, params, self.bias, num_layers, self.dropout, self.training, bidirectional, batch_first
        )

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        if self.bidirectional:
            text += f", bidirectional={self.bidirectional}"
        return text


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman, 1990), or with relu. Gives the results and the last states."""

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        nonlinearity="tanh",
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: the nonlinearity is {nonlinearity!r}; use 'tanh' or 'relu'")
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )


class LSTM(RNNBase):
    """Gates i, f, g, o (Hochreiter and Schmidhuber, 1997). Gives the results and the last (hidden, cell) states."""

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(RNNBase):
    """Gates r, z, n (Cho et al., 2014). Gives the results and the last states."""

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
