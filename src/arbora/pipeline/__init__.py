"""From raw text to trees: segmenter, tagger, lemmatizer, and the pipeline that joins them with a parser.

Each part has its own file, which also trains it; `words` holds what tagger and lemmatizer share.
"""
