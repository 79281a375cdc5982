"""Arbora as a part of other libraries; each file needs the library that it is named after."""
