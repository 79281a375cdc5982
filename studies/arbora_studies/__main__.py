"""`python -m arbora_studies PAPER` is `arbora reproduce PAPER`."""

import typer

from arbora_studies.command import reproduce

if __name__ == "__main__":
    typer.run(reproduce)
