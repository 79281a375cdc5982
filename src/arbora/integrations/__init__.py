"""Arbora in other libraries: spaCy, and tables of pandas, Polars and Parquet.

Each module needs an optional package, which nothing else in Arbora imports.
"""
