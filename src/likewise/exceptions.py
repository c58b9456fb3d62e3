"""Everything likewise raises or warns with.

Each message says what was found, where, and what to do about it.
"""

__all__ = [
    "AntidotesLeak",
    "AttackFailed",
    "DatasetUnavailable",
    "FewAntidotes",
    "GainUncertain",
    "GenerationError",
    "LatentSpaceShrunk",
    "LikewiseError",
    "LikewiseWarning",
    "MissingExtra",
    "NoComparablePairs",
    "NoisyDirections",
    "NothingWithinBudget",
    "PairsSampled",
    "ParameterError",
    "PenaltyAtLimit",
    "PolicyError",
    "RuleError",
    "SavedFolderError",
    "SchemaError",
    "ScoreError",
    "ScoresCollapsed",
    "ScoresSqueezed",
    "SparkError",
    "TableFileError",
    "TooManyPairs",
    "TrainingError",
    "UnsettledDirections",
]


class LikewiseError(Exception):
    """The root of every error that likewise raises on purpose."""


class ParameterError(LikewiseError, ValueError):
    """An argument has a value that makes no sense.

    ``parameter`` is the name of the argument and ``problem`` the rest of the message, so that a caller who has another
    name for it, such as a command-line option, can put that in front.
    """

    def __init__(self, problem: str, parameter: str = "") -> None:
        super().__init__(problem, parameter)
        self.problem = problem
        self.parameter = parameter

    def __str__(self) -> str:
        return f"{self.parameter} {self.problem}".lstrip()


class SchemaError(LikewiseError, ValueError):
    """A table does not fit its roles, or the schema learned from another table."""


class RuleError(LikewiseError, ValueError):
    """A comparability rule makes no sense, or names columns the table lacks."""


class ScoreError(LikewiseError, ValueError):
    """Scores do not fit the people, or are no scores at all; or a model cannot score them."""


class PolicyError(LikewiseError, ValueError):
    """A policy asks for something no audit measures, or sets an impossible limit."""


class NoComparablePairs(LikewiseError, ValueError):
    """Nothing can be said about similar people: no two rows are comparable."""


class TooManyPairs(LikewiseError, MemoryError):
    """The pairs would not fit in the memory the caller allowed."""


class GenerationError(LikewiseError, ValueError):
    """Antidotes cannot be learned or made from this table."""


class TrainingError(LikewiseError, RuntimeError):
    """Training came to nothing: its loss is no number any more."""


class SavedFolderError(LikewiseError, ValueError):
    """A folder is not what a saved model looks like, or was damaged."""


class MissingExtra(LikewiseError, ImportError):
    """An optional dependency is needed and not installed."""


class SparkError(LikewiseError, RuntimeError):
    """Spark could not be started, or failed at what it was asked to do."""


class DatasetUnavailable(LikewiseError, OSError):
    """A data set is neither on this machine nor to be had from its sources."""


class TableFileError(LikewiseError, ValueError):
    """A file cannot be read as a table."""


class LikewiseWarning(UserWarning):
    """The root of every warning that likewise gives."""


class AntidotesLeak(LikewiseWarning):
    """An estimator holds out rows by itself, and learns from antidotes of them: what it measures there is too good."""


class AttackFailed(LikewiseWarning):
    """An attack on a network gained nothing for a whole epoch: fitting went on as if there were none."""


class PairsSampled(LikewiseWarning):
    """There were more pairs than fit; a uniform sample of them was returned."""


class FewAntidotes(LikewiseWarning):
    """Fewer antidotes could be made than were asked for."""


class GainUncertain(LikewiseWarning):
    """The model that a search chose may be no less unfair than the base: its gain may be chance."""


class LatentSpaceShrunk(LikewiseWarning):
    """A network tells people hardly apart inside: what it learned of similar people holds for all."""


class NoisyDirections(LikewiseWarning):
    """A sensitive column can hardly be told from the others: the directions learned for it are mostly chance."""


class PenaltyAtLimit(LikewiseWarning):
    """Attacks on a network went nowhere near the distance that they may go, or always beyond it."""


class ScoresCollapsed(LikewiseWarning):
    """A model scores everybody nearly alike: its gaps are small, and it says nothing."""


class ScoresSqueezed(LikewiseWarning):
    """A search chose a model whose gaps fell because all of its scores moved together."""


class NothingWithinBudget(LikewiseWarning):
    """No candidate of a search was less unfair than the base at a loss that is allowed: the base was chosen."""


class UnsettledDirections(LikewiseWarning):
    """A regression on the other columns did not converge: the directions learned from it are rough."""
