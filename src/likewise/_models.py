"""Fitted models in one .skops file: written whole, read by Python and the command line, with no code run from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Self

from likewise._extras import require
from likewise._files import local_path, refuse_pipe, write_file
from likewise.exceptions import SavedModelError

ENDING: Final = ".skops"
NOT_SAVED: Final = ("antidotes_",)  # rows of people, which the model does not need

# Besides the types that skops trusts by itself. All are data, or compute; none opens a file or runs what it holds.
OF_SCIKIT_LEARN: Final = (
    *("builtins.object", "collections.OrderedDict", "numpy.dtype", "numpy.number"),
    *("sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration"),
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    *(f"sklearn.feature_selection._mutual_info.mutual_info_{name}" for name in ("classif", "regression")),
    *(f"sklearn.feature_selection._univariate_selection.{name}" for name in ("chi2", "f_classif", "f_regression")),
    "sklearn.metrics._scorer._PassthroughScorer",
    *(f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold")),
    *(f"sklearn.neural_network._stochastic_optimizers.{name}" for name in ("AdamOptimizer", "SGDOptimizer")),
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)
OF_BOOSTED_TREES: Final = (
    "xgboost.core.Booster",
    *(f"xgboost.sklearn.XGB{name}" for name in ("Classifier", "Regressor", "RFClassifier", "RFRegressor")),
    "lightgbm.basic.Booster",
    *(f"lightgbm.sklearn.LGBM{name}" for name in ("Classifier", "Regressor")),
)
OURS: Final = tuple(
    f"likewise.{name}"
    for name in (
        *("schema._arrow.Dtype", "schema._frame_rows.BinValues", "schema._schema.Roles", "schema._schema.Schema"),
        *(f"schema._codecs.{name}" for name in ("Categories", "LearnedColumn", "Scale")),
        *("schema._table.CodedTable", "schema._table.Unit", "comparable._rule.Comparability"),
        *("generation._rounds.Targets", "generation._uniform.UniformGenerator", "generation._gibbs.GibbsGenerator"),
        *("generation.adversarial._generator.AdversarialGenerator", "generation._storage.Description"),
        *("nets._inputs.InputCoding", "learning._networks.NetworkClassifier", "learning._networks.AntiDROClassifier"),
        *("learning._augmented.AugmentedClassifier", "learning._augmented.AugmentedRegressor"),
        *(f"learning.consistent._boosting.{name}" for name in ("XGBoost", "LightGBM")),
        *(f"learning.consistent._models.Consistent{name}" for name in ("Classifier", "Regressor")),
        *(f"learning.consistent._smoothed_scores.{name}" for name in ("ScoreChanges", "SmoothedScores")),
        *(f"learning.consistent._smoothed_targets.SmoothedTargets{name}" for name in ("Classifier", "Regressor")),
        *(f"baselines._transformers.{name}" for name in ("DropSensitive", "ProjectSensitive", "SensitiveSubspace")),
        *("baselines._subspace.Subspace", "baselines._lcifr.LCIFRClassifier"),
        *(f"baselines._attacked.{name}" for name in ("SenSRClassifier", "SenSeIClassifier")),
    )
)
TRUSTED: Final = frozenset((*OF_SCIKIT_LEARN, *OF_BOOSTED_TREES, *OURS))


class SavedModel:
    """Mixin for models that are saved in one file."""

    def save(self, path: str | Path) -> None:
        """Write a ``.skops`` file that :meth:`load` and ``likewise audit --model`` read, on this or another machine.

        Antidotes are not saved; everything else is, a generator included. No file is replaced.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.skops``.
        """
        from sklearn.utils.validation import check_is_fitted

        target = local_path(path, SavedModelError)
        if target.suffix.lower() != ENDING:
            raise SavedModelError(f"'{path}' does not end in {ENDING}. Name it '{path}{ENDING}'.")
        check_is_fitted(self)
        write_file(target, dump_model(self))

    @classmethod
    def load(cls, path: str | Path, *, trusted: Iterable[str] = ()) -> Self:
        """Read a file that :meth:`save` wrote. No code of it is run.

        Parameters
        ----------
        path : str or Path
        trusted : sequence of str
            Types that the file may hold besides those of likewise, scikit-learn, XGBoost and LightGBM, such as
            ``package.Class``. Name only what you have inspected: they may run any code.

        Returns
        -------
        model
        """
        target = local_path(path, SavedModelError)
        refuse_pipe(target)
        try:
            data = target.read_bytes()
        except OSError as error:
            raise SavedModelError(
                f"Cannot load from '{path}': {error.strerror or error}. Give a file that save wrote."
            ) from None
        model = load_model(data, path, trusted)
        if not isinstance(model, cls):
            kind = type(model).__name__
            raise SavedModelError(f"'{path}' holds no {cls.__name__}, but a {kind}. Load it with {kind}.load.")
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]  # of scikit-learn's estimators
        return {name: value for name, value in state.items() if name not in NOT_SAVED}


def dump_model(model: Any) -> bytes:
    """Return a model as the bytes of a .skops file, which have been read again once."""
    kind = type(model).__name__
    skops = require("skops.io", "skops", f"Saving a {kind}")
    try:
        data: bytes = skops.dumps(model)
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))  # just written: what was already loaded
    except Exception as error:  # parts of a model may raise anything when they are written
        raise SavedModelError(
            f"This {kind} cannot be saved without pickle ({_reason(error)}). Leave out functions of yours and other "
            "parts that are no data, or save estimator_ with its own library."
        ) from error
    return data


def load_model(data: bytes, file: str | Path, trusted: Iterable[str] = (), option: str = "trusted=") -> Any:
    """Return the model of a .skops file; refuse one with types that nobody vouched for.

    ``option`` is how the caller is told to name such types.
    """
    skops = require("skops.io", "skops", f"The model file '{file}'")
    allowed = TRUSTED.union(trusted)
    try:
        strange = [name for name in skops.get_untrusted_types(data=data) if name not in allowed]
        if not strange:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's about other versions of itself
                return skops.loads(data, trusted=sorted(allowed))
    except Exception as error:  # not a zip file, or one of anything else
        raise SavedModelError(
            f"'{file}' cannot be loaded as a skops file ({_reason(error)}). Write it again, with save of likewise or "
            "skops.io.dump."
        ) from error
    named = " ".join(f"{option} {name}" for name in strange) if option.startswith("-") else f"{option}{strange}"
    raise SavedModelError(
        f"'{file}' holds types that may run any code when it is loaded: {', '.join(strange)}. Inspect them, and if you "
        f"trust them add {named}."
    )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {text}"
