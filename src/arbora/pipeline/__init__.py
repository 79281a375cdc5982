"""From raw text to tagged words: one file per step."""
