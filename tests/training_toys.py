"""What tests of training share."""

from arbora.progress import Silent


class Recorder(Silent):
    """Keeps what it is told; ends training by Ctrl-C after some epoch of some stage."""

    def __init__(self, interrupt_after=None):
        self.stages, self.reports, self.notes, self.examples = [], [], [], 0
        self.interrupt_after = interrupt_after

    def begin(self, task, total=None, *, epochs=None, done=0, unit="sentence"):
        self.stages.append((task, total, epochs, done))

    def advance(self, steps=1):
        self.examples += steps
        last = (self.reports[-1].stage, self.reports[-1].epoch.number) if self.reports else None
        if last is not None and last == self.interrupt_after and self.examples > 10:
            raise KeyboardInterrupt

    def report(self, report):
        self.reports.append(report)
        self.examples = 0

    def note(self, text):
        self.notes.append(text)
