"""The game service for Monte Carlo Solitaire."""

from importlib.metadata import version
from pathlib import Path

__version__ = version("montecarlo-solitaire")


def shipped(name: str) -> Path:
    """Return a top-level folder of the project, which a wheel carries inside this package."""
    here = Path(__file__).parent
    return here / name if (here / name).is_dir() else here.parent / name
