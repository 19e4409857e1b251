#!/bin/bash
#SBATCH -a 1,3,7-21:2 -c 2 --mem-per-cpu=2G -t 30

sed -n "${SLURM_ARRAY_TASK_ID}p" params.txt | xargs ./run
