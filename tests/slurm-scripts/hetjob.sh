#!/bin/bash
#SBATCH --ntasks=1 --mem=64G --time=30
#SBATCH hetjob
#SBATCH --ntasks=8 --gpus-per-task=1

srun ./loader : ./trainer
