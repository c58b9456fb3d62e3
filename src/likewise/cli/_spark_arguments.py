"""Which Spark to run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from likewise.cli._arguments import EngineChoice, option

SPARK: Final = "Where Spark runs (with --engine spark)"

Master = Annotated[
    str | None,
    option(
        "--spark-master",
        panel=SPARK,
        metavar="URL",
        help="Such as local[4], yarn or spark://host:7077; all cores of this machine, if not given.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        "--spark-conf",
        panel=SPARK,
        metavar="KEY=VALUE",
        help="A setting of Spark, such as spark.executor.memory=8g; may be repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The Spark that was asked for."""

    spark_master: Master = None
    spark_conf: Settings = None

    def settings(self) -> dict[str, str]:
        """Read the settings."""
        found = {}
        for text in self.spark_conf or []:
            key, sign, value = text.partition("=")
            if not sign or not key.strip():
                raise typer.BadParameter(f"it is '{text}'; write it as KEY=VALUE.", param_hint="--spark-conf")
            found[key.strip()] = value.strip()
        return found

    def refuse_unused(self, engine: EngineChoice) -> None:
        """Refuse to be asked for a Spark that would not run."""
        given = {"--spark-master": self.spark_master, "--spark-conf": self.spark_conf}
        unused = [name for name, value in given.items() if value]
        if unused and engine is not EngineChoice.SPARK:
            raise typer.BadParameter("it is about Spark; add --engine spark, or leave it out.", param_hint=unused[0])
