#!/bin/bash
#SBATCH --job-name=md
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=10
#SBATCH --gres=gpu:a100:4
#SBATCH --time=1-00:00:00
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=ada@example.org

gmx mdrun -deffnm md -ntmpi 4 -ntomp $SLURM_CPUS_PER_TASK -nb gpu -maxh 23.5
