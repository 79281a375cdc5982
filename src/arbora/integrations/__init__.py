"""Arbora in other libraries; each module needs an optional one, which nothing else in Arbora imports."""
