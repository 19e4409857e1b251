#!/bin/bash -l
#SBATCH --get-user-env
#SBATCH --export=ALL
#SBATCH -c 4
#SBATCH -t 60

eval "$(conda shell.bash hook)"
conda activate lab
python analysis.py
