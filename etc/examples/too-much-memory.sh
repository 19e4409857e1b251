#!/bin/sh
# Uses more memory than it asked for, 16 MiB at a time, and is killed at 128 MiB. Needs only
# python3.
#
#   kantctl submit too-much-memory.sh
#
#KANT --job-name=too-much-memory
#KANT --mem=128M --cpus-per-task=1
#KANT --time=5
#KANT --output=too-much-memory-%j.out

exec python3 -u - <<'PYTHON'
import sys

PIECE_BYTES = 16 << 20
held = []
for count in range(1, 65):
    piece = bytearray(PIECE_BYTES)
    piece[::4096] = b"x" * (PIECE_BYTES // 4096)  # memory counts once it is written to
    held.append(piece)
    print(f"holding {count * PIECE_BYTES >> 20} MiB")
print("the memory limit was not enforced on this node (`kantctl show node` says why)")
sys.exit(1)
PYTHON
