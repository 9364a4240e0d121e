"""What the engine refuses: each refusal is a `ValueError` with a stable code and a sentence for a person."""

from typing import Any


class EngineError(ValueError):
    """A refusal; `code` never changes once published, the sentence may.

    move: place in its batch, from 0, of the move refused, where moves came in a batch
    """

    move: int | None = None

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it cross from one process to another, whatever the arguments it is made with."""
        return type(self).__new__, (type(self), self.message), self.__dict__


class Unreadable(EngineError):
    """Text or values that mean nothing here, whatever the position: a card that is none, a cell off the grid."""


class IllegalMove(EngineError):
    """A move that can be read and is not legal in this position."""


class ImpossibleRules(EngineError):
    """Rules by which no game can be played."""

    def __init__(self, message: str) -> None:
        super().__init__("impossible_rules", message)
