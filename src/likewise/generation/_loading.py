"""A saved generator of any kind, and what tells one generator from another."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from likewise.exceptions import SavedFolderError
from likewise.generation._adversarial import AdversarialGenerator
from likewise.generation._generator import BaseGenerator
from likewise.generation._gibbs import GibbsGenerator
from likewise.generation._uniform import UniformGenerator

KINDS_OF_GENERATOR: Final = (UniformGenerator, GibbsGenerator, AdversarialGenerator)
NOT_TOLD: Final = "history"  # it holds times, which differ from run to run


def load_generator(path: str | Path, *, device: str = "auto") -> BaseGenerator:
    """Read a generator that was saved, of whatever kind it is; nothing in the folder is run.

    Parameters
    ----------
    path : str or Path
        A folder that :meth:`BaseGenerator.save` wrote.
    device : str
        Where networks compute from now on.

    Returns
    -------
    generator

    Examples
    --------
    >>> import tempfile
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import load_generator
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generator.save(f"{folder}/saved")
    ...     type(load_generator(f"{folder}/saved")).__name__
    'UniformGenerator'
    """
    kind = _kind_of(Path(path))
    for cls in KINDS_OF_GENERATOR:
        if kind.partition(" ")[0] == cls.__name__:
            loaded: BaseGenerator = cls.load(path, device=device)
            return loaded
    names = ", ".join(cls.__name__ for cls in KINDS_OF_GENERATOR)
    raise SavedFolderError(f"'{path}' holds '{kind}', which is no generator. Give a folder that one of {names} saved.")


def fingerprint(generator: BaseGenerator) -> str:
    """Give a checksum of all that antidotes depend on, but for rows and seed."""
    kind, record, arrays = generator._describe()
    told: dict[str, Any] = {name: value for name, value in record.items() if name != NOT_TOLD}
    digest = hashlib.sha256(json.dumps([kind, told], sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _kind_of(folder: Path) -> str:
    try:
        head = json.loads((folder / "likewise.json").read_text("utf-8"))
    except OSError as error:
        raise SavedFolderError(
            f"No generator can be loaded from '{folder}': {error.strerror or error}. Give a folder that save wrote."
        ) from None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise SavedFolderError(f"'{folder}' holds nothing that likewise saved. Give a folder that save wrote.")
    return str(head["kind"])
