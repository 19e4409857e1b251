#!/bin/bash
#SBATCH -N 8 --gpus-per-node=4 --ntasks-per-node=4 --cpus-per-gpu=12 -t 6:00:00

srun python main.py
