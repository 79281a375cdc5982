"""An observer of learning without a treebank, for its tests."""

from arbora.interfaces import StopTraining
from arbora.progress import Silent


class Rounds(Silent):
    """Keeps what each round reports, and can stop learning at one of them."""

    def __init__(self, stop_at=None):
        self.epochs, self.stop_at = [], stop_at

    def report(self, report):
        self.epochs.append(report.epoch)
        if report.epoch.number == self.stop_at:
            raise StopTraining
