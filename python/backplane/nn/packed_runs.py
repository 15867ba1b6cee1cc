"""Recurrent layers along packed sequences: the operators run each stretch of steps that as many sequences reach."""

from .. import _core

_rows = _core.operators
_cat = _rows["cat"]

__all__ = ["checked_batch_sizes", "run_layers"]


def checked_batch_sizes(layer, batch_sizes, num_elements):
    """How many sequences reach each step, as a list. Raises ValueError for what packing does not give."""
    if not isinstance(batch_sizes, _core.Tensor) or batch_sizes.ndim != 1 or batch_sizes.dtype != _core.int64:
        raise ValueError(f"{layer}: batch_sizes must be int64 of one dimension; pass what packing gave")
    sizes = batch_sizes.tolist()
    if not sizes or min(sizes) <= 0 or any(after > before for before, after in zip(sizes, sizes[1:])):
        raise ValueError(
            f"{layer}: batch_sizes are {sizes}; they are above 0 and never rise, and there is one at least"
        )
    if sum(sizes) != num_elements:
        raise ValueError(
            f"{layer}: batch_sizes add up to {sum(sizes)}, and {num_elements} elements are packed; pass what packing "
            "gave"
        )
    return sizes


def run_layers(rnn, data, batch_sizes, states):
    """[elements, features] to the results and the last states, all in the order of the packed sequences."""
    num_directions = rnn.num_directions
    after = [[] for _ in states]
    for depth in range(rnn.num_layers):
        outputs = []
        for direction in range(num_directions):
            run = depth * num_directions + direction
            output, last = _run_direction(
                rnn, data, batch_sizes, [state.select(0, run) for state in states], run, direction == 1
            )
            outputs.append(output)
            for all_last, one in zip(after, last):
                all_last.append(one)
        data = outputs[0] if len(outputs) == 1 else _cat(outputs, 1)
        if rnn.training and rnn.dropout > 0 and depth + 1 < rnn.num_layers:
            data = _rows["dropout"](data, rnn.dropout, True)
    return [data, *(_rows["stack"](last, 0) for last in after)]


def _stretches(batch_sizes):
    """Where each begins among the elements, its steps, and how many sequences reach them."""
    stretches, place = [], 0
    for batch in batch_sizes:
        if not stretches or stretches[-1][2] != batch:
            stretches.append([place, 0, batch])
        stretches[-1][1] += 1
        place += batch
    return stretches


def _run_direction(rnn, data, batch_sizes, before, run, is_reverse):
    """One direction of one layer. The states have a row for each sequence, the longest first."""
    stretches = _stretches(batch_sizes)
    if is_reverse:
        stretches.reverse()
    now = [state.narrow(0, 0, stretches[0][2]) for state in before]
    ended, outputs = None, []  # the last states of sequences that are over
    for first, steps, batch in stretches:
        rows = now[0].shape[0]
        if rows > batch:
            over = [state.narrow(0, batch, rows - batch) for state in now]
            ended = over if ended is None else [_cat([a, b], 0) for a, b in zip(over, ended)]
            now = [state.narrow(0, 0, batch) for state in now]
        elif rows < batch:
            now = [_cat([state, begin.narrow(0, rows, batch - rows)], 0) for state, begin in zip(now, before)]
        input = data.narrow(0, first, steps * batch).reshape([steps, batch, data.shape[1]])
        if is_reverse:
            input = input.flip([0])
        output, now = _run_steps(rnn, input, now, run)
        if is_reverse:
            output = output.flip([0])
        outputs.append(output.reshape([steps * batch, output.shape[2]]))
    if is_reverse:
        outputs.reverse()
    if ended is not None:
        now = [_cat([a, b], 0) for a, b in zip(now, ended)]
    return outputs[0] if len(outputs) == 1 else _cat(outputs, 0), now


def _run_steps(rnn, input, before, run):
    """One direction over [steps, batch, features]."""
    names = rnn._all_weights[run]
    if rnn.proj_size == 0:
        output, *after = rnn.run_row(input, [state.unsqueeze(0) for state in before], False, names, 1, False)
        return output, [state.squeeze(0) for state in after]
    # No operator projects.
    weight_ih, weight_hh, *biases, weight_hr = (getattr(rnn, name) for name in names)
    bias_ih, bias_hh = biases or (None, None)
    linear, sigmoid, tanh = _rows["linear"], _rows["sigmoid"], _rows["tanh"]
    of_input, outputs = linear(input, weight_ih, bias_ih), []
    hidden, cell = before
    for step in range(input.shape[0]):
        i, f, g, o = (of_input.select(0, step) + linear(hidden, weight_hh, bias_hh)).chunk(4, -1)
        cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)
        hidden = linear(sigmoid(o) * tanh(cell), weight_hr)
        outputs.append(hidden)
    return _rows["stack"](outputs, 0), [hidden, cell]
