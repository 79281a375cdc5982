"""Trees as one web page that needs nothing else: no script, no other file, light and dark.

Pictures are those of `svg.py`, and like them everything is escaped. What is more, the page forbids itself
(by a Content-Security-Policy) to run or fetch anything. Pages are made in parts, so that one with many
trees need not be held in memory: `page_start`, then `page_section` for each sentence, then `page_end`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arbora.data.sentence import Sentence
from arbora.web.svg import Drawable, Look, draw_picture, join_pictures
from arbora.web.writing import safe_in_xml

WIDTH = 1000.0
"""Pictures on a page are this wide at most, unless a single word is wider."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
TITLE = "Dependency trees"
STYLE = """\
:root{color-scheme:light dark}
:root{--arbora-ink:#1b1f24;--arbora-crossing:#b3400a;--paper:#fff;--line:#d5d9de;--soft:#5b626b}
@media(prefers-color-scheme:dark){
:root{--arbora-ink:#e8eaed;--arbora-crossing:#ffb083;--paper:#16181c;--line:#363b43;--soft:#a3abb5}
}
body{margin:0 auto;padding:1.5rem;max-width:66rem;color:var(--arbora-ink);background:var(--paper);
font:1rem/1.5 system-ui,'Helvetica Neue',Helvetica,Arial,'Noto Sans',sans-serif}
h1{font-size:1.3rem;overflow-wrap:anywhere}
section{border-top:1px solid var(--line);padding:1rem 0 1.5rem}
h2{display:flex;gap:.75rem;margin:0 0 1rem;font-size:1rem;font-weight:400;line-height:1.5}
h2 a{color:var(--soft);text-decoration:none;font-variant-numeric:tabular-nums}
h2 a:hover,h2 a:focus{text-decoration:underline}
h2 span{flex:1;overflow-wrap:anywhere}
figure{margin:0 0 1rem;overflow-x:auto}
figcaption{color:var(--soft);font-size:.875rem}
svg{display:block;color:var(--arbora-ink)}
.arbora-crossing{color:var(--arbora-crossing)}
@media print{body{max-width:none;padding:0}section{break-inside:avoid}svg{max-width:100%;height:auto}}
"""


def draw_html(sentences: Iterable[Drawable], *, title: str = TITLE, look: Look | None = None) -> str:
    """A whole page: each sentence with its number, its text and its tree."""
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
    """A sentence with its number, its text and its trees, each with a caption or an empty one."""
    look = look or Look(max_width=WIDTH)
    first = trees[0][0]
    text = (first if isinstance(first, Sentence) else first.sentence).text
    parts = [
        f'<section id="s{number}">\n<h2><a href="#s{number}" aria-label="sentence {number}">{number}</a>'
        f'<span dir="auto">{safe_in_xml(text)}</span></h2>\n'
    ]
    for tree, caption in trees:
        picture = draw_picture(tree, look)
        told = f"<figcaption>{safe_in_xml(caption)}</figcaption>\n" if caption else ""
        side = ' dir="rtl"' if picture.direction == "rtl" else ""
        parts.append(f"<figure{side}>\n{told}{join_pictures([picture], standalone=False)}</figure>\n")
    return "".join([*parts, "</section>\n"])


def page_end() -> str:
    """Everything after the last sentence."""
    return "</main>\n</body>\n</html>\n"
