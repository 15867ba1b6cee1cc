"""Modules as functions of their parameters."""

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, args=(), kwargs=None, *, tie_weights=True, strict=False):
    """Calls the module with other tensors in the place of its own, which it has again afterwards.

    Args:
        parameters_and_buffers: tensors by path. With `tie_weights`, one that is shared is replaced in all its places.
        strict: all parameters and buffers must be among them.

    Raises:
        ValueError: a path is not of the module, or, with `strict`, one is missing.
    """
    places = {}
    for path, each in module.named_modules(remove_duplicate=False):
        for name, kind in each._kinds.items():
            if kind != "module" and each.__dict__[name] is not None:
                places[f"{path}.{name}" if path else name] = (each, name)
    unknown = [path for path in parameters_and_buffers if path not in places]
    missing = [path for path in places if path not in parameters_and_buffers] if strict else []
    if unknown or missing:
        raise ValueError(
            f"functional_call: unknown to the module: {', '.join(unknown) or 'none'}; missing: "
            f"{', '.join(missing) or 'none'}"
        )
    replaced = {}
    for path, tensor in parameters_and_buffers.items():
        holder, name = places[path]
        own = holder.__dict__[name]
        for other, (each, key) in places.items():
            if other == path or tie_weights and each.__dict__[key] is own and other not in parameters_and_buffers:
                replaced[other] = tensor
    before = {path: places[path][0].__dict__[places[path][1]] for path in replaced}
    try:
        for path, tensor in replaced.items():
            places[path][0].__dict__[places[path][1]] = tensor
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for path, tensor in before.items():
            places[path][0].__dict__[places[path][1]] = tensor
