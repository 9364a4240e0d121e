def search(
    near: bytes,
    pairs: bytes,
    singles: bytes,
    mode: int,
    left: int,
    order: bytes,
    cells: bytes,
    may_close: bool,
    waves: bytes,
    budget: int,
    /,
) -> tuple[bytes, int, bytes]: ...
