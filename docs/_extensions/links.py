"""Check that every link inside a built site leads somewhere: ``python docs/_extensions/links.py docs/_build/html``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LEADING = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and links."""
        given = dict(attrs)
        self.places.update(value for name in ("id", "name") if (value := given.get(name)))
        target = given.get(LEADING.get(tag, ""))
        if target:
            (self.links if tag == "a" else self.fetched).append(target)


def find_broken(site: Path) -> Iterator[str]:
    """Name every link that leads to no file, or to no place in one; and what would be fetched from elsewhere."""
    own = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts)  # there are the theme's
    pages = {path.resolve(): Page(path) for path in own}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        yield from (f"{name}: {link} is fetched from elsewhere" for link in page.fetched if urlsplit(link).netloc)
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name}: {link} leads to no file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{name}: {link} leads to no place in it"


if __name__ == "__main__":
    broken = sorted(set(find_broken(Path(sys.argv[1]))))
    print("\n".join(broken) or "Every link inside the site leads somewhere.")
    sys.exit(bool(broken))
