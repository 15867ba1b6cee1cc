"""What PyTorch imports at the end of its own import, by the entry point `torch.backends`; the package does the rest itself.

A module of its own, since `import backplane_torch` imports PyTorch before it is whole."""

import backplane_torch  # noqa: F401


def load():
    """Nothing is left to do: PyTorch calls it all the same."""
