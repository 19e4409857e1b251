#!/bin/sh
# Runs longer than it asked for. At its limit it gets SIGTERM, and has a grace period to save its
# work before SIGKILL. Needs only a shell.
#
#   kantctl submit too-long.sh
#
#KANT --job-name=too-long
#KANT --cpus-per-task=1 --mem=64M
#KANT --time=0:10
#KANT --output=too-long-%j.out

trap 'echo "SIGTERM after $seconds s: save your work now"; exit 0' TERM

seconds=0
while [ "$seconds" -lt 600 ]; do
    echo "second $seconds"
    sleep 1
    seconds=$((seconds + 1))
done
echo "the time limit was not enforced"
exit 1
