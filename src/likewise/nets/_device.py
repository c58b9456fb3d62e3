"""Where networks compute."""

from __future__ import annotations

from typing import Any

from likewise._extras import require


def choose_device(wanted: str = "auto") -> Any:
    """Find the device to compute on.

    Parameters
    ----------
    wanted : str
        "auto" for the GPU if there is one, else the processor; or any name that torch knows.

    Returns
    -------
    torch.device

    Examples
    --------
    >>> from likewise.nets import choose_device
    >>> choose_device("cpu").type
    'cpu'
    """
    torch = require("torch", "torch", "A network")
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError):
        raise ValueError(f"device is {wanted!r}, which torch does not know. Give 'auto', 'cpu' or 'cuda'.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {wanted!r}, but torch sees no GPU here. Give 'auto' or 'cpu'.")
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, TypeError, AssertionError) as error:  # a GPU too many, a name without anything behind it
        reason = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        raise ValueError(
            f"device is {wanted!r}, but torch cannot compute there: {reason}. Give 'auto', 'cpu' or 'cuda'."
        ) from None
    return device
