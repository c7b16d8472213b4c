"""Shards and who works on them: training on more items than a memory holds, here or on many machines.

write_shards(stream_source(source, "default", 0, None), Folder("shards"))
workers = find_workers(2)  # or find_workers(cluster="tls://scheduler:8786")
fit = fit_shards(make_method("smfh-plus", anchors=0), "shards", workers)
score_shards(fit, workers)["text", "image", "training"].mean_average_precision
"""

from smfh.cluster.fitting import ShardedFit, database_sha256, fit_shards
from smfh.cluster.manifest import Manifest, read_manifest
from smfh.cluster.scoring import query_data, score_shards, search_shards
from smfh.cluster.sources import is_streamed, stream_files, stream_source
from smfh.cluster.storage import Folder
from smfh.cluster.workers import Workers, find_workers
from smfh.cluster.writing import ROWS_PER_PART, Stream, write_shards
