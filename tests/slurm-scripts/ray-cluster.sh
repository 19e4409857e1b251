#!/bin/bash
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --gpus-per-node=2
#SBATCH --time=02:00:00

nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))
srun --nodes=1 --ntasks=1 -w ${nodes[0]} ray start --head --block &
for i in 1 2; do srun -N1 -n1 -w ${nodes[$i]} ray start --address ${nodes[0]}:6379 --block & done
python tune.py
