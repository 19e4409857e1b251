#!/bin/bash
#SBATCH --gpus=2 --mem-per-gpu=40G --cpus-per-gpu=10 -t 90

./train
