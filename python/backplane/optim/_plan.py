"""Which parameters one call steps: worked out once, and used as long as nothing that decides it changes."""

from operator import is_

from .. import _core
from ._lists import real_parts


class Batch:
    """Parameters that one call takes a step with: of one device, dtype and layout, at the same step.

    Complex ones are here as real views, and so are their gradients and what is kept of them.
    """

    __slots__ = ("params", "grads", "states", "is_complex", "places")

    def __init__(self, is_complex):
        self.params, self.grads, self.states, self.is_complex = [], [], [], is_complex
        self.places = []  # among the group's parameters

    def add(self, place, parameter, grad, state):
        if self.is_complex:
            parameter, grad = real_parts(parameter), real_parts(grad)
        self.places.append(place)
        self.params.append(parameter)
        self.grads.append(grad)
        self.states.append(state)

    def kept(self, name):
        """What the state keeps under this name, parameter by parameter."""
        tensors = [state[name] for state in self.states]
        return [real_parts(each) for each in tensors] if self.is_complex else tensors

    def number(self, name):
        """A number that all of them share."""
        return float(self.states[0][name])

    def set_number(self, name, value):
        shared = _core.tensor(value, dtype=_core.float32)
        for state in self.states:
            state[name] = shared

    def advance(self):
        """Counts this step, from 1."""
        step = self.number("step") + 1
        self.set_number("step", step)
        return step


class Plan:
    """The batches of a group, for the steps that follow."""

    __slots__ = ("group", "params", "marks", "live", "states", "apart", "batches")

    def __init__(self, optimizer, group, marks, batches):
        self.group, self.params, self.marks, self.batches = group, list(group["params"]), marks, list(batches)
        places = [place for batch in batches for place in batch.places]
        self.live = [self.params[place] for place in places]
        self.states = [state for batch in batches for state in batch.states]
        self.apart = [optimizer._apart_by(group, state) for state in self.states]

    def serves(self, optimizer, group, marks):
        """Would the batches be the same if they were made again? What a step keeps is there then as well."""
        params, states = group["params"], self.states
        return (
            self.group is group
            and self.marks == marks
            and len(params) == len(self.params)
            and all(map(is_, params, self.params))
            and all(map(is_, map(optimizer.state.get, self.live), states))
            and all([state.get(name) is not None for name in optimizer._kept(group) for state in states])
            and all([_share(batch.states, name) for name in optimizer._numbers for batch in self.batches])
            and self.apart == [optimizer._apart_by(group, state) for state in states]
        )

    def batches_with(self, grads):
        for batch in self.batches:
            batch.grads = [grads[place] for place in batch.places]
        return self.batches


def _share(states, name):
    first = states[0].get(name)
    return first is not None and all([state.get(name) is first for state in states])
