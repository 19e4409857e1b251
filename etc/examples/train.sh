#!/bin/sh
# Trains a small network in an allocation of one GPU and keeps a checkpoint, so that it continues
# from there when the job is started again. Needs only python3.
#
#   kantctl submit train.sh [EPOCHS [SECONDS_PER_EPOCH]]
#
#KANT --job-name=train
#KANT --gpus=1 --cpus-per-task=1 --mem=512M
#KANT --time=10
#KANT --output=train-%j.out

echo "job ${SLURM_JOB_ID:-none} on ${SLURMD_NODENAME:-$(hostname)}," \
    "CPUs: ${SLURM_CPUS_ON_NODE:-?}, GPUs: ${CUDA_VISIBLE_DEVICES:-none}," \
    "restarts: ${SLURM_RESTART_COUNT:-0}"

# The program is part of the script, because only the script is copied at submission.
exec python3 -u - "$@" <<'PYTHON'
"""A network of one hidden layer learns whether a point lies inside a circle."""
import json
import math
import os
import random
import sys
import time

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
PACE_SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
CHECKPOINT = f"train-{os.environ.get('SLURM_JOB_ID', 'local')}.checkpoint.json"
HIDDEN = 8
RATE = 0.05


def sample(count):
    """Points of a square, labelled 1 inside the circle of half its area."""
    points = [(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(count)]
    return [(x, y, 1.0 if x * x + y * y < 2 / math.pi else 0.0) for x, y in points]


def forward(net, x, y):
    hidden = [math.tanh(a * x + b * y + c) for a, b, c in net["hidden"]]
    score = net["bias"] + sum(w * h for w, h in zip(net["out"], hidden))
    return hidden, 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def step(net, x, y, label):
    """One step down the gradient of the cross entropy; returns the loss before it."""
    hidden, guess = forward(net, x, y)
    error = guess - label
    for i, h in enumerate(hidden):
        back = error * net["out"][i] * (1 - h * h)
        net["out"][i] -= RATE * error * h
        a, b, c = net["hidden"][i]
        net["hidden"][i] = [a - RATE * back * x, b - RATE * back * y, c - RATE * back]
    net["bias"] -= RATE * error
    right = guess if label else 1 - guess
    return -math.log(max(right, 1e-12))


def load():
    """The checkpoint of an earlier attempt, or a new network."""
    try:
        with open(CHECKPOINT) as file:
            state = json.load(file)
            print(f"continuing after epoch {state['epoch']}")
            return state
    except FileNotFoundError:
        hidden = [[random.gauss(0, 1) for _ in range(3)] for _ in range(HIDDEN)]
        out = [random.gauss(0, 1) for _ in range(HIDDEN)]
        return {"epoch": 0, "net": {"hidden": hidden, "out": out, "bias": 0.0}}


def save(state):
    """Atomic, because a job may be killed at any moment."""
    with open(CHECKPOINT + ".new", "w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


random.seed(7)
data, test = sample(400), sample(400)
state = load()
for epoch in range(state["epoch"] + 1, EPOCHS + 1):
    began = time.monotonic()
    random.shuffle(data)
    loss = sum(step(state["net"], *point) for point in data) / len(data)
    hits = sum((forward(state["net"], x, y)[1] > 0.5) == bool(label) for x, y, label in test)
    state["epoch"] = epoch
    save(state)
    print(f"epoch {epoch:3}/{EPOCHS}  loss {loss:.4f}  accuracy {hits / len(test):.1%}")
    time.sleep(max(0.0, PACE_SECONDS - (time.monotonic() - began)))
os.remove(CHECKPOINT)
print("done")
PYTHON
