"""SenSeI (sensitive set invariance) as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import check_choice, check_count, check_number
from likewise.baselines._attacked import AttackedClassifier
from likewise.baselines._sensitive_columns import Sensitive

if TYPE_CHECKING:
    from likewise.baselines._attack_losses import InvarianceLoss
    from likewise.nets._internal import People

OUTPUT_DISTANCES: Final = ("logits", "probabilities")


class SenSeIClassifier(AttackedClassifier):
    """Fit a network whose outputs change little when rows move in sensitive directions (SenSeI).

    Each batch is moved to where its outputs are farthest from the original ones; moves inside the sensitive subspace
    are free, others are penalized (see :class:`SensitiveSubspace`). The loss is that of the rows themselves, plus rho
    times the mean squared distance of the outputs.

    A large rho pulls all scores together: gaps shrink because the model predicts less. Check score_spread in
    ``history_``, and a measure of model performance.

    Parameters
    ----------
    roles : Roles, str or sequence of str
        Column roles, or only the names of the sensitive columns. Other roles are inferred, see
        :meth:`likewise.Roles.infer`; the columns of an array, x0, x1 and so on, are numbers.
    rho : float
        Weight of the output distance; 0 is plain training.
    epsilon : float
        Mean squared distance outside the subspace that attacks may go. It grows with the number of inputs.
    n_steps, step : int, float
        Number and size of attack steps: their product limits how far an input can move. Large steps cannot keep to a
        small epsilon; fitting warns about it.
    lambda_start : float
        Initial weight of the input distance; it adapts during training.
    start_noise : float, optional
        Largest initial move of every input. By default the start is at distance epsilon; 0.1 in the inFairness library.
    output_distance : {"logits", "probabilities"}
        Two classes have one logit, whose distances are twice those of a network with two. Of probabilities, half the
        squared distance is taken, which for two classes is the squared gap; it needs a larger rho.
    subspace_method : {"softmax", "one_vs_rest"}
        How the sensitive directions are learned, see :class:`SensitiveSubspace`.
    include_indicators : bool
        Whether the sensitive columns themselves are free to move.
    hidden, n_iterations, batch_size, optimizer, learning_rate, halve_every, weight_decay
        As in :class:`likewise.NetworkClassifier`.
    scaling, patience, validation_fraction, network, progress, device, random_state
        As there. Patience uses the log loss alone, not the output distance.

    Attributes
    ----------
    classes_ : array
    history_ : list of dict
        Training records: iteration, epoch, seconds, loss, held_out_loss, score_spread, lambda, attack_gain,
        mean_distance, output_distance. The gain of an attack is relative to its start.
    subspace_ : Subspace
        The directions, and how well the sensitive columns are predicted; a loaded model has none.
    network_, coding_, roles_
        The torch module, the encoding of rows as inputs, and a role for every column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.baselines import SenSeIClassifier
    >>> people = pa.table({"sex": ["f", "m"] * 20, "height": [1.6, 1.8] * 20, "skill": [3.5, 4.0, 1.5, 1.0] * 10})
    >>> model = SenSeIClassifier("sex", n_iterations=50, random_state=0)
    >>> model = model.fit(people, ["hired", "hired", "not", "not"] * 10)
    >>> model.predict_proba(people).shape, model.subspace_.rank
    ((40, 2), 3)
    """

    def __init__(
        self,
        roles: Sensitive | None = None,
        *,
        rho: float = 0.1,
        epsilon: float = 0.1,
        n_steps: int = 10,
        step: float = 0.1,
        lambda_start: float = 1.0,
        start_noise: float | None = None,
        output_distance: str = "logits",
        subspace_method: str = "softmax",
        include_indicators: bool = True,
        hidden: tuple[int, ...] = (64, 64),
        n_iterations: int = 10_000,
        batch_size: int = 256,
        optimizer: str = "sgd",
        learning_rate: float = 0.1,
        halve_every: int | None = 2_500,
        weight_decay: float = 1e-2,
        scaling: str = "range",
        patience: int | None = None,
        validation_fraction: float = 0.1,
        network: Callable[[int, int], Any] | None = None,
        progress: Callable[[dict[str, Any]], None] | None = None,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.roles = roles
        self.rho = rho
        self.epsilon = epsilon
        self.n_steps = n_steps
        self.step = step
        self.lambda_start = lambda_start
        self.start_noise = start_noise
        self.output_distance = output_distance
        self.subspace_method = subspace_method
        self.include_indicators = include_indicators
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
        self.network = network
        self.progress = progress
        self.device = device
        self.random_state = random_state

    def _objective(self, network: Any, people: People) -> InvarianceLoss:
        from likewise.baselines._attack_losses import InvarianceLoss, PricedAttacks
        from likewise.baselines._attacks import Steps, attack_in_one_stage

        attack = partial(
            attack_in_one_stage,
            metric=self._metric(people.weights),
            steps=Steps(self.n_steps, self.step),
            noise=self._noise(people.device),
        )
        attacks = PricedAttacks(network, attack, self._penalty(None, people.weights))
        return InvarianceLoss(network, people, attacks, self.rho, self.output_distance)

    def _allowed_distance(self) -> float:
        return self.epsilon

    def _weight_to_start_with(self) -> float:
        return self.lambda_start

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        check_number("rho", self.rho, least=0.0)
        check_number("step", self.step, above=0.0)
        check_number("epsilon", self.epsilon, above=0.0)
        check_count("n_steps", self.n_steps, or_none=False, least=1)
        check_choice("output_distance", self.output_distance, OUTPUT_DISTANCES)

    def _reach_advice(self, verb: str) -> str:
        return f"{verb} step ({self.step:g}) or n_steps ({self.n_steps})"

    def _collapse_advice(self) -> str:
        return f"Lower rho ({self.rho:g}) or weight_decay ({self.weight_decay:g})."
