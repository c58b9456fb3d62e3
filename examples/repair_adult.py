"""What ``repair`` does to boosted trees on Adult: the lines in the README, written beside this file."""

from __future__ import annotations

from pathlib import Path

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier

from likewise import load_dataset, repair


def main() -> None:
    data = load_dataset("adult")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    words = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer((codes, words), remainder="passthrough")
    model = make_pipeline(columns, XGBClassifier(n_estimators=150, learning_rate=0.1, random_state=0))
    repaired = repair(model, data.train.X, data.train.y, roles=data.roles, rule=data.rule, max_loss=0.01)
    Path(__file__).with_suffix(".txt").write_text(f"{repaired}\n", "utf-8")
    print(repaired)


if __name__ == "__main__":
    main()
