#!/bin/bash
#SBATCH -J resnet50
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -c 8
#SBATCH -G 1
#SBATCH --mem=48G
#SBATCH -t 12:00:00
#SBATCH -o logs/%x_%j.out
#SBATCH -e logs/%x_%j.err

source ~/venv/bin/activate
python train.py --workers $SLURM_CPUS_PER_TASK
