"""From raw text to trees: segmenter, tagger, lemmatizer; one file each, all optional."""
