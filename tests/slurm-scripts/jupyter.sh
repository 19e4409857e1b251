#!/bin/bash
#SBATCH --job-name=jupyter
#SBATCH --partition=gpu
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=4
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --output=jupyter-%j.log

port=$((8000 + SLURM_JOB_ID % 1000))
echo "ssh -N -L $port:$(hostname):$port login"
jupyter lab --no-browser --ip=127.0.0.1 --port=$port
