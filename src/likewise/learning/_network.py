"""The base network of the paper, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from likewise.nets import BaseNetworkClassifier
from likewise.schema import Roles


class NetworkClassifier(BaseNetworkClassifier):
    """Fit a small network to a table, with the settings of the paper.

    It reads frames as they are: numbers are scaled, every category becomes an indicator. Without roles, text in which
    nearly every value is different (names, ids) and values that cannot be compared are left out; the log says which.
    Arrays hold numbers.

    Parameters
    ----------
    hidden : tuple of int
        The widths of the hidden layers. Two of them make the paper's three layers.
    n_iterations : int
        Steps.
    batch_size : int
        Rows a step; all rows are drawn once before any is drawn again.
    optimizer : {"sgd", "adam"}
        How steps are taken.
    learning_rate : float
        Their size.
    halve_every : int, optional
        After how many steps it is halved, again and again; never, if None.
    weight_decay : float
        The strength of the squared penalty on the weights (the paper's L2). The default is the paper's, so that results
        can be compared; a tenth of it predicts better on four of the five data sets of the paper.
    scaling : {"range", "deviation", "none"}
        Whether the training range of a number becomes [0, 1], or its mean 0 and its standard deviation 1, or numbers
        stay as they are.
    patience : int, optional
        Hold out rows of every class, and end after so many looks at them without a lower loss. There are 50 looks or
        more in all, one for each record of the history. By default all steps are taken.
    validation_fraction : float
        The share of the rows held out, with patience.
    roles : Roles, optional
        What the columns of a frame are; guessed from what they hold, if not given. See :meth:`Roles.infer`.
    network : callable, optional
        Makes another network, a torch module, of the number of inputs and of outputs (one for two classes). What is
        frozen in it stays so.
    progress : callable, optional
        Called with each record of the history.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        The same number gives the same network, on the same machine.

    Attributes
    ----------
    classes_ : array
    history_ : list of dict
        Records of fitting: iteration, epoch, seconds, loss, held_out_loss, score_spread.
    network_ : torch module
    coding_ : InputCoding
        How rows become inputs.

    Examples
    --------
    >>> from likewise import NetworkClassifier, load_dataset
    >>> data = load_dataset("planted")
    >>> model = NetworkClassifier(n_iterations=200, roles=data.roles, random_state=0).fit(data.train.X, data.train.y)
    >>> model.predict_proba(data.test.X).shape
    (500, 2)
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64, 64),
        *,
        n_iterations: int = 10_000,
        batch_size: int = 256,
        optimizer: str = "sgd",
        learning_rate: float = 0.1,
        halve_every: int | None = 2_500,
        weight_decay: float = 1e-2,
        scaling: str = "range",
        patience: int | None = None,
        validation_fraction: float = 0.1,
        roles: Roles | None = None,
        network: Callable[[int, int], Any] | None = None,
        progress: Callable[[dict[str, Any]], None] | None = None,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.n_iterations = n_iterations
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.halve_every = halve_every
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.roles = roles
        self.network = network
        self.progress = progress
        self.device = device
        self.random_state = random_state
