"""submitit's own flow: a job, an array, tasks, a failure, a cancel, a checkpoint before the limit."""

import sys
import time

import submitit


def add(a, b):
    place = submitit.JobEnvironment()
    return a + b, place.global_rank, place.num_tasks


def fail():
    raise ValueError("as it should")


class Count:
    """Counts on; warned, it is put back into the queue and goes on from where it was."""

    def __init__(self):
        self.at = 0
        self.lives = 1

    def __call__(self, to):
        while self.at < to:
            time.sleep(0.1)
            self.at += 1
        return self.at, self.lives

    def checkpoint(self, to):
        self.lives += 1
        return submitit.helpers.DelayedSubmission(self, to)


def main(folder):
    executor = submitit.AutoExecutor(folder=f"{folder}/%j", cluster="slurm")
    executor.update_parameters(name="flow", timeout_min=5, mem_gb=0.25, cpus_per_task=1)

    assert executor.submit(add, 2, 3).result() == (5, 0, 1)
    jobs = executor.map_array(add, [1, 2, 3], [10, 20, 30])
    assert [job.result()[0] for job in jobs] == [11, 22, 33]
    assert jobs[0].job_id.endswith("_0"), jobs[0].job_id

    executor.update_parameters(tasks_per_node=2)
    assert executor.submit(add, 1, 1).results() == [(2, 0, 2), (2, 1, 2)]
    executor.update_parameters(tasks_per_node=1)

    failed = executor.submit(fail)
    assert "as it should" in str(failed.exception())

    asleep = executor.submit(time.sleep, 600)
    while asleep.get_info(mode="force").get("State") != "RUNNING":
        time.sleep(0.1)
    asleep.cancel()
    while not asleep.done(force_check=True):
        time.sleep(0.1)
    # Slurm says by whom: CANCELLED by 1000.
    assert asleep.state.split()[0] == "CANCELLED", asleep.state

    # The warning comes 40 of 60 seconds before the limit, and it counts for 25: it is warned at
    # least once, and more often on a slow machine.
    executor.update_parameters(timeout_min=1, slurm_signal_delay_s=40)
    at, lives = executor.submit(Count(), 250).result()
    assert at == 250 and lives >= 2, (at, lives)
    print("submitit: done")


if __name__ == "__main__":
    main(sys.argv[1])
