def search(
    near: bytes,
    partners: bytes,
    singles: bytes,
    mode: int,
    left: int,
    cells: bytes,
    may_close: bool,
    waves: bytes,
    budget: int,
    /,
) -> tuple[bytes, int, bytes]: ...
