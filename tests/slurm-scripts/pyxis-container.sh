#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --container-image=nvcr.io#nvidia/pytorch
#SBATCH --time=60

srun python train.py
