#!/bin/bash
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --time=20
#SBATCH --switches=1

srun --mpi=none ./all_reduce_perf -b 8 -e 8G -f 2 -g 1
