"""All errors and warnings of likewise; messages say what was found, where, and what to do."""

from likewise._format import one_line

__all__ = [
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
    "ReviewError",
    "RuleError",
    "SavedModelError",
    "SchemaError",
    "ScoreError",
    "ScoresCollapsed",
    "SearchLogError",
    "SparkError",
    "TableFileError",
    "TooManyPairs",
    "TrainingError",
    "UnsettledDirections",
]


def _join_lines(text: str) -> str:
    return one_line(" ".join(line.strip() for line in text.splitlines()))


class LikewiseError(Exception):
    """Base class of all errors raised by likewise; each message is one line, whatever values it shows."""

    def __str__(self) -> str:
        return _join_lines(super().__str__())


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
        return _join_lines(f"{self.parameter} {self.problem}").lstrip()


class SchemaError(LikewiseError, ValueError):
    """A table does not fit its roles or its schema."""


class RuleError(LikewiseError, ValueError):
    """A comparability rule is invalid, or names columns the table lacks."""


class ScoreError(LikewiseError, ValueError):
    """Scores are invalid or do not fit the people, or a model cannot score them."""


class PolicyError(LikewiseError, ValueError):
    """A policy names an unknown measure, or sets an impossible limit."""


class ReviewError(LikewiseError, ValueError):
    """Review sheets do not agree with their record, or are filled in wrongly; ``faults`` has a sentence for each."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults


class NoComparablePairs(LikewiseError, ValueError):
    """No two rows are comparable."""


class TooManyPairs(LikewiseError, MemoryError):
    """The pairs would exceed the allowed memory; ``needed`` is how many bytes the search takes at least, if known."""

    def __init__(self, message: str = "", needed: int | None = None) -> None:
        super().__init__(message)
        self.needed = needed


class GenerationError(LikewiseError, ValueError):
    """Antidotes cannot be learned or generated from this table."""


class TrainingError(LikewiseError, RuntimeError):
    """Training diverged: the loss is not a number."""


class SavedModelError(LikewiseError, ValueError):
    """A file or folder is not a saved model, or is damaged, or a model cannot be saved."""


class SearchLogError(LikewiseError, ValueError):
    """The log of a search cannot be read, was altered, or belongs to another search."""


class MissingExtra(LikewiseError, ImportError):
    """An optional dependency is needed but not installed."""


class SparkError(LikewiseError, RuntimeError):
    """Spark could not be started, or failed."""


class DatasetUnavailable(LikewiseError, OSError):
    """A data set is neither on this machine nor available from its sources."""


class TableFileError(LikewiseError, ValueError):
    """A file cannot be read as a table, or something cannot be written where it was asked for."""


class LikewiseWarning(UserWarning):
    """Base class of all warnings of likewise."""


class AttackFailed(LikewiseWarning):
    """An attack on a network made no progress for a whole epoch; training continued without it."""


class PairsSampled(LikewiseWarning):
    """There were too many pairs; a uniform sample was returned."""


class FewAntidotes(LikewiseWarning):
    """Fewer antidotes were generated than requested."""


class GainUncertain(LikewiseWarning):
    """The reduction in unfairness of the chosen model may be due to chance."""


class LatentSpaceShrunk(LikewiseWarning):
    """A network's latent space has collapsed: it hardly distinguishes people."""


class NoisyDirections(LikewiseWarning):
    """A sensitive column can hardly be predicted from the others: the learned directions are mostly noise."""


class PenaltyAtLimit(LikewiseWarning):
    """Attacks on a network stayed far below the allowed distance, or always exceeded it."""


class ScoresCollapsed(LikewiseWarning):
    """A model gives nearly the same score to everybody: its gaps are small but meaningless."""


class NothingWithinBudget(LikewiseWarning):
    """No candidate within the budget was less unfair than the base, so the base was chosen."""


class UnsettledDirections(LikewiseWarning):
    """A regression on the other columns did not converge: the learned directions are rough."""
