"""Quick start: from text to trees with probabilities, as a table, a drawing and a file.

python examples/quick_start.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import arbora
from arbora.web.terminal import draw

TEXT = "She saw the man with the telescope. He waved."


def main() -> None:
    """Parse a text with the bundled English model."""
    nlp = arbora.load()
    for sentence in nlp(TEXT):
        print(f"{sentence.text}  (tree probability {sentence.probability:.2f})")
        for word in sentence:
            head = "root" if word.head == 0 else sentence[word.head - 1].form
            print(f"  {word.form:<10} {word.upos:<6} {word.deprel:<8} {head:<10} {word.head_probability:.2f}")

    # Parsing is faster without probabilities.
    sentences = nlp(TEXT, probabilities=False)
    print(draw(sentences[0].tree, sentences[0].forms))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "parsed.conllu"
        arbora.write(sentences, path)
        print(*path.read_text().splitlines()[:4], sep="\n")


if __name__ == "__main__":
    main()
