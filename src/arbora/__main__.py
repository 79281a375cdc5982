"""`python -m arbora` is the command line."""

from arbora.cli.main import run

if __name__ == "__main__":
    run()
