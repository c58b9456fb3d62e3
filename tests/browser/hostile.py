"""Data that tries to be more than data: as names of columns, values, labels and ids."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from likewise import Comparability, Roles

LONG: Final = "long" + "g" * 9_990 + "end-of-it"
BROKEN_LONG: Final = " ".join(["word"] * 2_000)

# Whatever runs sets window.hacked, opens a dialog or asks for hacked.invalid; whatever becomes markup has class hacked.
ATTACKS: Final = (
    "<script>window.hacked = 1</script>",
    '<img class="hacked" src="http://hacked.invalid/a.png" onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
    "</title></head></style></svg></template></textarea><b class=hacked>4</b>",
    '" onmouseover="window.hacked = 5" class="hacked" x="',
    "' onfocus='window.hacked = 6' autofocus class='hacked' x='",
    "javascript:window.hacked=7//",
    "<a class=hacked href='javascript:window.hacked=8'>open</a>",
    "<svg class=hacked onload=window.hacked=9>",
    "{{7*7}} ${7*7} {% print(7*7) %} #{7*7} <%= 7*7 %>",
    "</style><style>body { display: none }</style>",
    "red; } * { display: none !important; background: url(http://hacked.invalid/css)",
    "<!-- hacked -->]]><![CDATA[<b class=hacked>",
    "\\u003cb class=hacked\\u003e \\x3cb\\x3e &lt;b class=hacked&gt; &#60;b&#62;",
    "__proto__",
    "constructor",
    "`; alert(10); `",
    "'-alert(11)-'",
    "right \u202eto left\u202c, \u2066isolated\u2069, \u200bzero\u200dwidth\ufeff",
    "null \x00 bell \x07 escape \x1b[31m delete \x7f line \u2028 next \x85",
    "tab\there, line\nthere, return\r\nthere",
    "\U0001f469\u200d\U0001f467 \U0001f1fa\U0001f1f3 a\u0301\u0323",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u65e5\u672c\u8a9e",
    '=HYPERLINK("http://hacked.invalid")',
    "z\u0351\u036b\u0343\u036a\u0302\u036b" * 30,
    "",
    " ",
    LONG,
    BROKEN_LONG,
)

SENSITIVE: Final = "<script>window.hacked = 'sensitive'</script>"
DISCRETE: Final = '" onclick="window.hacked = \'discrete\'" class="hacked'
ORDINAL: Final = "{{7*7}}</script><b class=hacked>ordinal</b>"
LONG_COLUMN: Final = "column-" + "n" * 993
CONTINUOUS: Final = "'><img class=hacked src=x onerror=window.hacked='continuous'>"
LABEL: Final = "<b class=hacked>label</b>\u202e"
ROW_ID: Final = "__proto__"
LABELS: Final = (
    "<i class=hacked onclick=window.hacked=1>no</i>",
    "\u202eyes</script><script>window.hacked='yes'</script>",
)
RANKS: Final = ("<u class=hacked>low</u>", "{{7*7}}", '"high"')


def make_people(n_each: int = 4) -> pa.Table:
    """Give people of whom every two with the same attack as their discrete value are comparable."""
    random = np.random.default_rng(0)
    values = [attack for attack in ATTACKS for _ in range(2 * n_each)]
    n = len(values)
    return pa.table(
        {
            SENSITIVE: [ATTACKS[(i // 2) % len(ATTACKS)] if i % 2 else "plain" for i in range(n)],
            DISCRETE: values,
            LONG_COLUMN: values[::-1],
            ORDINAL: [RANKS[i // 2 % 3] for i in range(n)],
            CONTINUOUS: random.integers(0, 4, n) / 10,
            LABEL: [LABELS[i // 2 % 2] for i in range(n)],
            ROW_ID: [f"{ATTACKS[i % len(ATTACKS)]}{i}" for i in range(n)],
        }
    )


ROLES: Final = Roles(
    sensitive=SENSITIVE,
    discrete=[DISCRETE, LONG_COLUMN],
    ordinal={ORDINAL: RANKS},
    continuous=CONTINUOUS,
    label=LABEL,
    row_id=ROW_ID,
)
RULE: Final = Comparability(max_discrete_changes=1, max_continuous_shift=0.4)


def make_scores(people: pa.Table) -> Any:
    return np.random.default_rng(1).uniform(0.05, 0.95, len(people))


def score(people: pa.Table) -> Any:
    """Give each person a score that depends on the person alone, as a model would, lowest where SENSITIVE is plain."""
    amounts = people[CONTINUOUS].to_numpy()
    lengths = [(len(name) - len("plain")) % 7 for name in people[SENSITIVE].to_pylist()]
    return 0.1 + amounts / 10 + [one / 20 for one in lengths]
