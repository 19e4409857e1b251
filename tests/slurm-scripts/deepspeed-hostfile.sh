#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH -t 1-12

scontrol show hostnames $SLURM_JOB_NODELIST | sed 's/$/ slots=8/' > hostfile
deepspeed --hostfile hostfile train.py
