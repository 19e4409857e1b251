"""dask-jobqueue's own flow: workers as jobs, work on them, and down again."""

import sys
import time

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def main(folder):
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory="1GB",
        walltime="00:10:00",
        interface="lo",
        local_directory=folder,
        log_directory=folder,
        python=sys.executable,
    )
    with cluster, Client(cluster) as client:
        cluster.scale(jobs=2)
        client.wait_for_workers(2, timeout=90)
        squares = client.gather(client.map(lambda number: number * number, range(10)))
        assert sum(squares) == 285, squares
        cluster.scale(0)
        until = time.monotonic() + 60
        while client.scheduler_info()["workers"]:
            assert time.monotonic() < until, "workers are left"
            time.sleep(0.1)
    print("dask-jobqueue: done")


if __name__ == "__main__":
    main(sys.argv[1])
