#!/bin/bash
#SBATCH -x g-007,g-[010-012]
#SBATCH --gres=gpu:8
#SBATCH -t 1:0:0

./train
