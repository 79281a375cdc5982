"""Trees for people: text, SVG and HTML drawings, plots, and the web server with its page.

Drawings are pure functions of a tree; the server needs the extra `serve`.
"""

THRESHOLD = 0.8  # An arc whose head is less probable than this is marked as uncertain
