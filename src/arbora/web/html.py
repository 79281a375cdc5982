"""Trees as one self-contained web page: no scripts, no other files, light and dark.

Pictures are those of `svg.py`. All text is escaped, and a content security policy forbids the page to run or
fetch anything. Pages are made in parts, so that long ones need little memory: `page_start`, `page_section`
for each sentence, `page_end`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from arbora.data.sentence import Sentence
from arbora.web.svg import Drawable, Look, draw_picture, join_pictures
from arbora.web.writing import safe_in_xml

WIDTH = 1000.0  # The largest width of pictures, unless a single word is wider
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
TITLE = "Dependency trees"
STYLE = (files("arbora.web") / "static" / "trees.css").read_text(encoding="utf-8")


def draw_html(sentences: Iterable[Drawable], *, title: str = TITLE, look: Look | None = None) -> str:
    """Draw a page: each sentence with its number, text and tree."""
    sections = [page_section(number, [(each, "")], look) for number, each in enumerate(sentences, start=1)]
    return "".join([page_start(title), *sections, page_end()])


def page_start(title: str = TITLE) -> str:
    """Everything before the first sentence."""
    name = safe_in_xml(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{name}</h1>\n"
    )


def page_section(number: int, trees: Sequence[tuple[Drawable, str]], look: Look | None = None) -> str:
    """A sentence with its number, text and trees, each tree with a caption (may be empty)."""
    look = look or Look(max_width=WIDTH)
    first = trees[0][0]
    text = (first if isinstance(first, Sentence) else first.sentence).text
    parts = [
        f'<section id="s{number}">\n<h2><a href="#s{number}" aria-label="sentence {number}">{number}</a>'
        f'<span dir="auto">{safe_in_xml(text)}</span></h2>\n'
    ]
    for tree, caption in trees:
        picture = draw_picture(tree, look)
        shown = f"<figcaption>{safe_in_xml(caption)}</figcaption>\n" if caption else ""
        side = ' dir="rtl"' if picture.direction == "rtl" else ""
        parts.append(f"<figure{side}>\n{shown}{join_pictures([picture], standalone=False)}</figure>\n")
    return "".join([*parts, "</section>\n"])


def page_end() -> str:
    """Everything after the last sentence."""
    return "</main>\n</body>\n</html>\n"
