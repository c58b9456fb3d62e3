"""What other folders use of this one beyond its documented names."""

from likewise.explain._mixtures import Mixer
from likewise.explain._splitting import MAX_COLUMNS, SplitPairs, open_mixer, roles_of, split_pairs

__all__ = ["MAX_COLUMNS", "Mixer", "SplitPairs", "open_mixer", "roles_of", "split_pairs"]
