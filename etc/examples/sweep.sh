#!/bin/sh
# An array of four small CPU jobs, one for each learning rate: gradient descent on (x - 3)^2.
# The last rate is too large on purpose, and its task fails. Needs only a shell and awk.
#
#   kantctl submit sweep.sh
#
#KANT --job-name=sweep
#KANT --array=0-3
#KANT --cpus-per-task=1 --mem=128M
#KANT --time=5
#KANT --output=sweep-%A_%a.out

set -- 0.01 0.1 0.5 1.1
shift "$SLURM_ARRAY_TASK_ID"
rate=$1

echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT on $SLURMD_NODENAME: rate $rate"
exec awk -v rate="$rate" 'BEGIN {
    x = 0
    for (round = 1; round <= 50; round++) {
        x -= rate * 2 * (x - 3)
        if (round % 10 == 0) printf "round %2d  x %.4f  loss %.6f\n", round, x, (x - 3) ^ 2
    }
    if ((x - 3) ^ 2 > 9) { print "this rate diverges from the minimum"; exit 1 }
}'
