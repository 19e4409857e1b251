"""simple-slurm's own flow: an array, a job waited for, the queue, a cancel."""

import datetime
import pathlib
import sys
import time

from simple_slurm import Slurm


def main(folder):
    folder = pathlib.Path(folder)
    slurm = Slurm(
        array=range(3),
        cpus_per_task=1,
        job_name="simple",
        output=f"{folder}/{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out",
        time=datetime.timedelta(minutes=5),
    )
    slurm.add_cmd("echo hello $SLURM_ARRAY_TASK_ID")
    array = slurm.sbatch("true")
    waited = Slurm(job_name="waited", wait=True, output=f"{folder}/w.out").sbatch("echo waited")
    assert waited > array, (array, waited)
    assert "waited" in (folder / "w.out").read_text()

    asleep = Slurm(job_name="asleep", output="/dev/null").sbatch("sleep 600")
    slurm.squeue.update_squeue()
    assert slurm.squeue.jobs[asleep]["NAME"] == "asleep", slurm.squeue.jobs
    slurm.scancel.cancel_job(asleep)
    until = time.monotonic() + 60
    while slurm.squeue.jobs:
        assert time.monotonic() < until, slurm.squeue.jobs
        slurm.squeue.update_squeue()
        time.sleep(0.1)
    told = [(folder / f"{array}_{task}.out").read_text() for task in range(3)]
    assert told == [f"hello {task}\n" for task in range(3)], told
    print("simple-slurm: done")


if __name__ == "__main__":
    main(sys.argv[1])
