"""Arbora in other libraries: spaCy pipelines, and tables for Arrow, pandas, Polars and Parquet.

Each module needs an optional library, and nothing else in Arbora imports that library.
"""
