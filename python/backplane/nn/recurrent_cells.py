"""One step of RNN, LSTM and GRU."""

from .. import _core
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_rows = _core.operators
_linear, _sigmoid, _tanh, _relu = _rows["linear"], _rows["sigmoid"], _rows["tanh"], _rows["relu"]

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the three hold.

    Inputs are [batch, input_size], or [input_size]; a first state that is not given is zeros.

    Attributes:
        weight_ih: [gates * hidden_size, input_size]. weight_hh: [gates * hidden_size, hidden_size].
        bias_ih, bias_hh: [gates * hidden_size], or None. All begin uniform in +-1 / sqrt(hidden_size).
    """

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        layer = self._get_name()
        self.input_size = check_whole(layer, "input_size", input_size, 0)
        self.hidden_size = check_whole(layer, "hidden_size", hidden_size, 1)
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(_rows["empty"]([rows, input_size], device=device, dtype=dtype))
        self.weight_hh = Parameter(_rows["empty"]([rows, hidden_size], device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(_rows["empty"]([rows], device=device, dtype=dtype)) if bias else None
            )
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights and biases."""
        bound = init.fan_in_bound(self.hidden_size)
        for weight in self.parameters():
            init.uniform_around_0(weight, bound)

    def _state(self, input, state, name="hidden"):
        layer = self._get_name()
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ValueError(
                f"{layer}: the input has shape {list(input.shape)}; pass [batch, {self.input_size}], or "
                f"[{self.input_size}]"
            )
        wanted = [*input.shape[:-1], self.hidden_size]
        if state is None:
            return _rows["zeros"](wanted, dtype=input.dtype, device=input.device)
        if list(state.shape) != wanted:
            raise ValueError(f"{layer}: the {name} state has shape {list(state.shape)}; pass one of {wanted}")
        return state

    def _products(self, input, hidden):
        return _linear(input, self.weight_ih, self.bias_ih), _linear(hidden, self.weight_hh, self.bias_hh)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias={self.bias}"


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman, 1990), or with relu."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: the nonlinearity is {nonlinearity!r}; use 'tanh' or 'relu'")
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        of_input, of_hidden = self._products(input, self._state(input, hx))
        return (_tanh if self.nonlinearity == "tanh" else _relu)(of_input + of_hidden)

    def extra_repr(self):
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """Gates i, f, g, o (Hochreiter and Schmidhuber, 1997). Takes and gives the hidden and the cell state."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise TypeError(
                "LSTMCell: the first states are a tuple of two tensors, hidden and cell; pass both, or None"
            )
        hidden, cell = (None, None) if hx is None else hx
        hidden, cell = self._state(input, hidden), self._state(input, cell, "cell")
        of_input, of_hidden = self._products(input, hidden)
        i, f, g, o = (of_input + of_hidden).chunk(4, -1)
        cell = _sigmoid(f) * cell + _sigmoid(i) * _tanh(g)
        return _sigmoid(o) * _tanh(cell), cell


class GRUCell(RNNCellBase):
    """Gates r, z, n (Cho et al., 2014)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        hidden = self._state(input, hx)
        of_input, of_hidden = self._products(input, hidden)
        (r, z, n), (hidden_r, hidden_z, hidden_n) = of_input.chunk(3, -1), of_hidden.chunk(3, -1)
        z = _sigmoid(z + hidden_z)
        n = _tanh(n + _sigmoid(r + hidden_r) * hidden_n)
        return n + z * (hidden - n)
