"""Run background work in worker processes, and train on shards: data sets larger than memory.

write_shards(stream_source(source, "default", 0, None), Folder("shards"))
workers = find_workers(2)  # or find_workers(cluster="tls://scheduler:8786")
fit = fit_shards(make_method("smfh-plus", anchors=0), "shards", workers)
score_shards(fit, workers)["text", "image", "training"].mean_average_precision
"""

from smfh.engine.engine import Call, Engine, ThisProcess, Workers, find_workers, here
from smfh.engine.fitting import ShardedFit, fit_shards, hash_codes, query_data, score_shards, search_shards
from smfh.engine.shards import ROWS_PER_PART, Folder, Manifest, Stream, read_manifest, write_shards
from smfh.engine.sources import is_streamed, stream_files, stream_source
