#!/bin/bash
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --gres=gpu:2
#SBATCH --time=06:00:00

trap 'scontrol requeue $SLURM_JOB_ID' USR1
python train.py --resume & wait
