#!/bin/bash
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=1:00:00
#SBATCH --tmp=50G

apptainer exec --nv image.sif python train.py
