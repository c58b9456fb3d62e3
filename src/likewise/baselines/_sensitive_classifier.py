"""Network classifiers that have to know which columns are sensitive: by roles, or by name and the rest guessed."""

from __future__ import annotations

from copy import copy
from typing import Any

from likewise.baselines._sensitive import Sensitive, complete_roles, sensitive_roles
from likewise.nets import BaseNetworkClassifier
from likewise.schema import Roles


class SensitiveNetworkClassifier(BaseNetworkClassifier):
    """Complete the roles when fitting, and save them as they were given and in full."""

    roles: Sensitive | None  # type: ignore[assignment]  # names of sensitive columns will do
    roles_: Roles

    def _find_roles(self, frame: Any) -> Roles:
        self.roles_ = complete_roles(self.roles, frame, is_array=self._took_array)  # type: ignore[arg-type]  # not None
        return self.roles_

    def _extra_record(self) -> dict[str, Any]:
        return {"roles": self.roles_.to_dict()}

    def _restore_extra(self, record: dict[str, Any]) -> None:
        self.roles_ = Roles.from_dict(record["roles"])

    def _refuse_odd_parameters(self) -> None:
        known = copy(self)
        known.roles = sensitive_roles(() if self.roles is None else self.roles)
        super(SensitiveNetworkClassifier, known)._refuse_odd_parameters()
