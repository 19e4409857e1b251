#!/bin/bash
#SBATCH --job-name="R forecast"
#SBATCH --cpus-per-task=20
#SBATCH --mem=100G
#SBATCH --time=0-06:00
#SBATCH --output=R_%u_%x.%j

Rscript --vanilla forecast.R $SLURM_CPUS_PER_TASK
