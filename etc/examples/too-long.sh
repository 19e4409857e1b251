#!/bin/sh
# Runs longer than it asked for. At its limit it gets SIGTERM, and has a moment to put things in
# order before SIGKILL. Needs nothing but a shell.
#
#   kantctl submit too-long.sh
#
#KANT --job-name=too-long
#KANT --cpus-per-task=1 --mem=64M
#KANT --time=0:10
#KANT --output=too-long-%j.out

trap 'echo "SIGTERM after $seconds s: this is the moment to save"; exit 0' TERM

seconds=0
while [ "$seconds" -lt 600 ]; do
    echo "second $seconds"
    sleep 1
    seconds=$((seconds + 1))
done
echo "nobody stopped me"
exit 1
