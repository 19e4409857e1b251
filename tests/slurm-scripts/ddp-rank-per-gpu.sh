#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=16
#SBATCH --time=10:00:00

export MASTER_ADDR=$(scontrol show hostname $SLURM_NODELIST | head -1)
srun python -u ddp.py
