"""Trees as one self-contained web page: no scripts, no other files, light and dark.

Pictures are those of `svg.py`. All text is escaped, and a content security policy forbids the page to run or
fetch anything. Pages are made in parts, so that long ones need little memory: `page_start`, `page_section`
for each sentence, `page_end`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arbora.data.sentence import Sentence
from arbora.web.svg import Drawable, Look, draw_picture, join_pictures
from arbora.web.writing import safe_in_xml

WIDTH = 1000.0
"""The largest width of pictures, unless a single word is wider."""
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
