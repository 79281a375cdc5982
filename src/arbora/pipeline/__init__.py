"""From raw text to trees: segmenter, tagger, lemmatizer, and the pipeline that joins them with a parser."""
