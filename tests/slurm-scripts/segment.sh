#!/bin/bash
#SBATCH --nodes=16
#SBATCH --gpus-per-node=4
#SBATCH --segment=8
#SBATCH --time=30

srun ./train
