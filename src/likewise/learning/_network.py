"""The base network of the paper as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from likewise.nets._internal import BaseNetworkClassifier


@dataclass(eq=False, repr=False)
class NetworkClassifier(BaseNetworkClassifier):
    """Fit a small network to a table, with the settings of the paper.

    It takes frames as they are: numbers are scaled, every category becomes an indicator. Without roles, text columns in
    which nearly every value is unique (names, ids) and values that cannot be compared are left out; the log says which.
    The columns of arrays are numbers.

    Parameters
    ----------
    hidden : tuple of int
        Hidden-layer widths. Two of them make the paper's three layers.
    n_iterations : int or "auto"
        Number of gradient steps; by default 10,000, or 200 epochs (at least 500 steps) of fewer than 2,000 rows.
    batch_size : int
        Rows per step; every row is drawn once per epoch.
    optimizer : {"sgd", "adam"}
    learning_rate : float
    halve_every : int, optional
        Halve the learning rate every so many steps; never, if None.
    weight_decay : float
        L2 penalty on the weights. The default is the paper's, so that results can be compared; a tenth of it predicts
        better on four of the paper's five data sets.
    scaling : {"range", "deviation", "none"}
        Scale numbers to [0, 1] over the training range, to mean 0 and standard deviation 1, or not at all.
    patience : int or "auto", optional
        Hold out rows of every class, and stop after so many history records without a lower held-out loss; there are 50
        records or more. If None, all steps are taken. By default 5 for fewer than 2,000 rows, if ``n_iterations`` is
        "auto" too, and None otherwise.
    validation_fraction : float
        Share of rows held out, with patience.
    roles : Roles, optional
        Column roles of a frame; inferred from the values by default, see :meth:`Roles.infer`.
    network : callable, optional
        Returns another network, a torch module, given the number of inputs and of outputs (one for two classes). Frozen
        parameters stay frozen.
    progress : callable or False, optional
        Called with each record of the history. By default, a progress bar appears after two seconds on a terminal or in
        a notebook; False for none.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        Seed; the same seed gives the same network on the same machine.

    Attributes
    ----------
    classes_ : array
    history_ : list of dict
        Training records: iteration, epoch, seconds, loss, held_out_loss, score_spread.
    network_ : torch module
    coding_ : InputCoding
        Encodes rows as network inputs.

    Examples
    --------
    >>> from likewise import NetworkClassifier, load_dataset
    >>> data = load_dataset("planted")
    >>> model = NetworkClassifier(n_iterations=200, roles=data.roles, random_state=0).fit(data.train.X, data.train.y)
    >>> model.predict_proba(data.test.X).shape
    (500, 2)
    """

    hidden: tuple[int, ...] = (64, 64)  # not by name alone
    _takes_pairs: ClassVar[bool] = True
