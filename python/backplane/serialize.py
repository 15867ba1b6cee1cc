"""Tensors and programs' states in files: safetensors, checkpoints of our own, and PyTorch's, which are read without
running them."""

from . import _core
from ._core import SafetensorsFile, Tensor

__all__ = ["SafetensorsFile", "load", "load_file", "safe_open", "save", "save_file"]

_DEEPEST = 200
_MARKS = "__python__"  # the entry that says what of Python's the file's own kinds do not tell apart
_PYTORCH = (b"PK\x03\x04", b"\x80")  # a zip file; what PyTorch wrote before 1.6, which gets a sentence of its own

safe_open = SafetensorsFile


def save_file(tensors, path, metadata=None):
    """Writes tensors by name into a .safetensors file, all at once or not at all.

    A crash at any moment leaves the earlier file or the new one. Tensors of other devices and strided ones are copied
    one by one.

    Args:
        tensors: a dict of names and tensors.
        path: where; an earlier file is replaced.
        metadata: a dict of texts by name.

    Raises:
        TypeError: something is not a tensor, or a name is not a str.
        ValueError: a name is not UTF-8, a tensor is complex128 or on "meta", or something write-protected has the name.
        OutOfMemoryError: the disk is full; the earlier file is as it was.
    """
    _core._save_file(tensors, path, metadata)


def load_file(path, device=None, *, mapped=False):
    """All tensors of a .safetensors file, or of those that a model's *.safetensors.index.json names, as a dict.

    Args:
        path: the file.
        device: where the tensors shall be; by default on the host.
        mapped: tensors lie in the file itself, and the system reads a page when it is first touched. For files that are
            replaced by renaming and never written in place: one that shrinks under its tensors ends the process.

    Raises:
        OSError: the file does not exist, or may not be read.
        ValueError: the file breaks the format; the message names it.
    """
    _touch(path)
    tensors = _core._load_file(path, mapped)
    return tensors if device is None else {name: tensor.to(device) for name, tensor in tensors.items()}


def save(obj, path):
    """Writes a tree of dicts, lists, tuples, tensors, numbers, text and None, all at once or not at all.

    The file is a .safetensors file, whose metadata has what is not a tensor. It comes back bit for bit, on the host and
    without gradients. The same tensor in two places of the tree comes back as one; views of one memory do not share it
    any more.

    Args:
        obj: the tree. Keys of dicts are texts, or integers.
        path: where; an earlier file is replaced. Also an object with write(), as io.BytesIO.

    Raises:
        TypeError: a value or a key is something else; the error says where.
        ValueError: the tree is more than 200 deep, or a tensor is on "meta".
    """
    if isinstance(obj, dict) and _MARKS in obj:
        raise ValueError(f"save: the key {_MARKS!r} is taken; choose another")
    marks = _Marks()
    tree = _plain(obj, (), marks)
    if marks:
        is_wrapped = not isinstance(obj, dict)
        tree = {**({"value": tree} if is_wrapped else tree), _MARKS: marks.saved(is_wrapped)}
    if not hasattr(path, "write"):
        return _core._save_state(tree, path)
    with _temporary_file() as place:
        _core._save_state(tree, place)
        with open(place, "rb") as written:
            _copy(written, path)


def load(path, map_location=None):
    """What `save` wrote, or what torch.save wrote into a .pt or .pth file (PyTorch 1.6 and later).

    PyTorch's checkpoints are programs for pickle. Here they are read by a machine that knows only what makes tensors,
    dicts, lists, numbers and text, and refuses the rest by name; nothing of the file is run. Tuples come back as lists,
    integer keys as decimal text, dtypes and devices as text.

    Args:
        path: the file. Also an object with read(), as io.BytesIO, which is read to its end.
        map_location: the device where tensors shall be; by default on the host.

    Raises:
        OSError: the file does not exist, or may not be read.
        ValueError: the file is damaged, or asks for something else than data, with its name.
    """
    if hasattr(path, "read"):
        with _temporary_file() as place:
            with open(place, "wb") as copied:
                _copy(path, copied)
            return load(place, map_location)
    start = _touch(path)
    if start.startswith(_PYTORCH):
        tree = _core._load_pytorch(path)
    else:
        tree = _marked(_core._load_state(path), path)
    return tree if map_location is None else _moved(tree, map_location, {})


class _temporary_file:
    """In a with statement, a path in a folder that goes away with it: what C++ reads and writes has a name."""

    def __enter__(self):
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        return self._folder.name + "/file"

    def __exit__(self, *error):
        self._folder.cleanup()


def _copy(source, target):
    import shutil

    shutil.copyfileobj(source, target, 1 << 20)


def _touch(path):
    """The first bytes. Opening raises Python's own errors for missing files."""
    with open(path, "rb") as file:
        return file.read(4)


# --- What a file does not tell apart ----------------------------------------------------------------------------------


class _Marks:
    """Places in a tree, as tuples of texts, where a dict had integers as keys, or a list was a tuple."""

    def __init__(self, int_keys=(), tuples=()):
        self.int_keys, self.tuples = {tuple(place) for place in int_keys}, {tuple(place) for place in tuples}

    def __bool__(self):
        return bool(self.int_keys or self.tuples)

    def saved(self, is_wrapped):
        return {
            "int_keys": [list(place) for place in sorted(self.int_keys)],
            "tuples": [list(place) for place in sorted(self.tuples)],
            "is_wrapped": is_wrapped,
        }


def _shown(place):
    return "the value at " + "".join(f"[{part!r}]" for part in place) if place else "the value"


def _plain(obj, place, marks):
    """The tree with texts as keys and lists for tuples."""
    if len(place) > _DEEPEST:
        raise ValueError(f"save: dicts and lists lie more than {_DEEPEST} deep in one another")
    if isinstance(obj, dict):
        return _plain_dict(obj, place, marks)
    if isinstance(obj, (list, tuple)):
        if isinstance(obj, tuple):
            marks.tuples.add(place)
        return [_plain(each, (*place, str(i)), marks) for i, each in enumerate(obj)]
    if obj is None or isinstance(obj, (Tensor, str, int, float)):
        return obj
    if hasattr(obj, "dtype") and getattr(obj, "ndim", None) == 0 and hasattr(obj, "item"):  # one of NumPy's numbers
        obj = obj.item()
        if isinstance(obj, (int, float)):
            return obj
    raise TypeError(
        f"save: {_shown(place)} is a {type(obj).__name__}; a file keeps tensors, numbers, text, None, and dicts, lists "
        "and tuples of them"
    )


def _plain_dict(obj, place, marks):
    if any(not isinstance(key, str) for key in obj):
        for key in obj:
            if isinstance(key, bool) or not isinstance(key, int):
                raise TypeError(f"save: {_shown(place)} has the key {key!r}; keys are all texts, or all integers")
        marks.int_keys.add(place)
    return {str(key): _plain(value, (*place, str(key)), marks) for key, value in obj.items()}


def _marked(tree, path):
    if not isinstance(tree, dict) or _MARKS not in tree:
        return tree
    saved = tree.pop(_MARKS)
    try:
        marks = _Marks(saved["int_keys"], saved["tuples"])
        return _again(tree["value"] if saved["is_wrapped"] else tree, (), marks)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: its entry {_MARKS} does not fit the rest ({error!r}); was it written by save?"
        ) from None


def _again(tree, place, marks):
    if isinstance(tree, dict):
        made = {key: _again(value, (*place, key), marks) for key, value in tree.items()}
        return {int(key): value for key, value in made.items()} if place in marks.int_keys else made
    if isinstance(tree, list):
        made = [_again(each, (*place, str(i)), marks) for i, each in enumerate(tree)]
        return tuple(made) if place in marks.tuples else made
    return tree


def _moved(tree, device, known):
    """The tree with its tensors on a device; one that occurs twice stays one."""
    if isinstance(tree, dict):
        return {key: _moved(value, device, known) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_moved(each, device, known) for each in tree)
    if not isinstance(tree, Tensor):
        return tree
    if id(tree) not in known:
        known[id(tree)] = tree, tree.to(device)
    return known[id(tree)][1]
