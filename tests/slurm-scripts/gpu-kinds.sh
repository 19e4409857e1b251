#!/bin/bash
#SBATCH --gpus=a100:2
#SBATCH --ntasks-per-gpu=2
#SBATCH --time=30

srun ./worker
