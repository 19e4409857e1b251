#!/bin/bash
#SBATCH --job-name=vllm
#SBATCH --gpus=4
#SBATCH --cpus-per-gpu=8
#SBATCH --mem-per-gpu=60G
#SBATCH --time=7-00:00:00
#SBATCH --output=vllm.%j.log

vllm serve model --tensor-parallel-size 4 --host 127.0.0.1
