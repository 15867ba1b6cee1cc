"""Tables of vectors, whose rows are looked up by number."""

from .. import _core
from ..autograd import no_grad
from . import functional as F
from . import init
from .functional.sparse import checked_padding
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_empty = _core.operators["empty"]

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    def _begin(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx,
        max_norm,
        norm_type,
        scale_grad_by_freq,
        sparse,
        weight,
        freeze,
        device,
        dtype,
    ):
        layer = self._get_name()
        self.num_embeddings = check_whole(layer, "num_embeddings", num_embeddings, 0)
        self.embedding_dim = check_whole(layer, "embedding_dim", embedding_dim, 0)
        if sparse:
            raise ValueError(f"{layer}: sparse gradients are not supported; leave out sparse=True")
        self.padding_idx = None if padding_idx is None else checked_padding(layer, padding_idx, num_embeddings)
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        if weight is None:
            self.weight = Parameter(
                _empty([num_embeddings, embedding_dim], device=device, dtype=dtype), requires_grad=not freeze
            )
            self.reset_parameters()
        elif tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(f"{layer}: the table is {list(weight.shape)}; pass {[num_embeddings, embedding_dim]}")
        else:
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self):
        """Draws a new table, from a normal distribution; the padding's row is zeros."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _of(cls, embeddings, freeze, options):
        if embeddings.ndim != 2:
            raise ValueError(f"{cls.__name__}: the table is {list(embeddings.shape)}; pass [rows, columns]")
        rows, columns = embeddings.shape
        return cls(rows, columns, _weight=embeddings, _freeze=freeze, **options)

    def _norms(self):
        text = f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        text += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        return text + (", scale_grad_by_freq=True" if self.scale_grad_by_freq else "")


class Embedding(_Table):
    """Rows of a table by integers: [...] to [..., embedding_dim].

    Args:
        num_embeddings, embedding_dim: sizes of the table.
        padding_idx: a row that is zeros and gets no gradient.
        max_norm: rows of a greater norm, of norm_type, are scaled to it when they are looked up.
        scale_grad_by_freq: divide gradients by how often the input names a row.

    Attributes:
        weight: [num_embeddings, embedding_dim].
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self._begin(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """One over the memory of a table, [rows, columns], which is trained unless it is frozen."""
        return cls._of(
            embeddings,
            freeze,
            dict(
                padding_idx=padding_idx,
                max_norm=max_norm,
                norm_type=norm_type,
                scale_grad_by_freq=scale_grad_by_freq,
                sparse=sparse,
            ),
        )

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{self._norms()}"


class EmbeddingBag(_Table):
    """The sum, mean or maximum of a table's rows in each bag.

    Bags are the rows of an input of two dimensions, or parts of one of one dimension that begin at `offsets`.

    Args:
        mode: "mean", "sum" or "max". include_last_offset: the last offset is the end of the last bag.
        padding_idx: a row that does not count. Others as those of Embedding.

    Attributes:
        weight: [num_embeddings, embedding_dim].
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
        _freeze=False,
    ):
        super().__init__()
        if mode not in ("mean", "sum", "max"):
            raise ValueError(f"EmbeddingBag: mode is {mode!r}; pass 'mean', 'sum' or 'max'")
        if mode == "max" and scale_grad_by_freq:
            raise ValueError("EmbeddingBag: scale_grad_by_freq with mode 'max'; use 'mean' or 'sum'")
        self.mode, self.include_last_offset = mode, include_last_offset
        self._begin(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """One over the memory of a table, [rows, columns], which is trained unless it is frozen."""
        return cls._of(
            embeddings,
            freeze,
            dict(
                max_norm=max_norm,
                norm_type=norm_type,
                scale_grad_by_freq=scale_grad_by_freq,
                mode=mode,
                sparse=sparse,
                include_last_offset=include_last_offset,
                padding_idx=padding_idx,
            ),
        )

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            False,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{self._norms()}, mode={self.mode!r}{padding}"
