"""From raw text to trees: segmenter, tagger, lemmatizer, and the pipeline that joins them with a parser.

Each part predicts, trains, and reads and writes its part of a model file.
"""
