#!/bin/sh
# A gang: four tasks on two nodes that start together or not at all, connect to the first node, and
# add up their ranks. Each task has its own output file. Needs only python3.
#
#   kantctl submit gang.sh
#
#KANT --job-name=gang
#KANT --nodes=2 --ntasks-per-node=2 --launch=per-task
#KANT --cpus-per-task=1 --mem=256M
#KANT --time=5
#KANT --output=gang-%j-%t.out

echo "rank $RANK of $WORLD_SIZE on $SLURMD_NODENAME (local rank $SLURM_LOCALID)"
echo "nodes $SLURM_JOB_NODELIST, master $MASTER_ADDR port $MASTER_PORT"
echo "CPUs $(nproc), GPUs ${CUDA_VISIBLE_DEVICES:-none}"

exec python3 -u - <<'PYTHON'
"""Rank 0 receives the number of every rank and sends the sum to all."""
import os
import socket
import sys
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MASTER = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
TIMEOUT_SECONDS = 60


def gather():
    """Rank 0: receives from all others, then answers them."""
    with socket.create_server(MASTER) as server:
        server.settimeout(TIMEOUT_SECONDS)
        others = [server.accept()[0] for _ in range(WORLD - 1)]
        total = RANK + sum(int(other.makefile().readline()) for other in others)
        for other in others:
            other.sendall(f"{total}\n".encode())
            other.close()
    return total


def join():
    """Any other rank: retries until rank 0 listens."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            with socket.create_connection(MASTER, timeout=TIMEOUT_SECONDS) as master:
                master.sendall(f"{RANK}\n".encode())
                return int(master.makefile().readline())
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


total = join() if RANK else gather()
expected = sum(range(WORLD))
print(f"the ranks add up to {total}, as expected" if total == expected else f"wrong: {total}")
sys.exit(total != expected)
PYTHON
