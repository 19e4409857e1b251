#!/bin/bash
#SBATCH --job-name=workflow
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=7-0

snakemake --executor slurm --jobs 100
