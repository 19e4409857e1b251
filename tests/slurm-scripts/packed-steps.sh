#!/bin/bash
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=1
#SBATCH --time=30

for i in 1 2 3 4 5 6 7 8; do srun --exact -n1 ./one $i & done
wait
