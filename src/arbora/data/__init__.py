"""Sentences, trees and treebanks: the only place that reads and writes CoNLL text."""
