"""parsl's own flow: a block of workers as a job, started by srun, and functions on them."""

import sys

import parsl
from parsl import python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@python_app
def square(number):
    import os

    return number * number, os.environ["SLURM_JOB_ID"]


def main(folder):
    provider = SlurmProvider(
        nodes_per_block=1,
        init_blocks=1,
        min_blocks=0,
        max_blocks=1,
        walltime="00:05:00",
        exclusive=False,
        launcher=SrunLauncher(),
        cores_per_node=1,
        mem_per_node=1,
    )
    executor = HighThroughputExecutor(
        label="workers",
        address="127.0.0.1",
        loopback_address="127.0.0.1",
        max_workers_per_node=1,
        provider=provider,
    )
    with parsl.load(Config(run_dir=folder, executors=[executor], strategy="none")):
        done = [future.result(timeout=90) for future in [square(n) for n in range(4)]]
    assert [number for number, _ in done] == [0, 1, 4, 9], done
    assert all(job.isdigit() for _, job in done), done
    print("parsl: done")


if __name__ == "__main__":
    main(sys.argv[1])
