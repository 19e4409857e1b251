#!/bin/bash
#SBATCH -C "a100&ib"
#SBATCH --gres=gpu:1
#SBATCH --time=30

nvidia-smi
