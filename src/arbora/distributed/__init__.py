"""Work on many processes or machines: parsing corpora, and training.

`engines` has the workers; `corpus` cuts a corpus into shards and parses them; `batches` is for data sets of
other libraries; `sharing` trains one model on several workers.
"""

from arbora.distributed.batches import ParseBatch
from arbora.distributed.corpus import Report, parse
from arbora.distributed.engines import Pool
from arbora.distributed.parse_shard import CorpusOptions

__all__ = ["CorpusOptions", "ParseBatch", "Pool", "Report", "parse"]
