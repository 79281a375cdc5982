"""From raw text to tagged words: segmenter, tagger, lemmatizer; one file each, all optional."""
