#!/bin/bash
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
#SBATCH --gpu-bind=closest
#SBATCH --cpu-bind=verbose,cores
#SBATCH --mem-bind=local
#SBATCH --time=30

srun ./worker
