#!/bin/bash
#SBATCH --array=0-9999:100%50
#SBATCH --ntasks=1
#SBATCH --time=0-1:30

for i in $(seq $SLURM_ARRAY_TASK_ID $((SLURM_ARRAY_TASK_ID + 99))); do ./one $i; done
