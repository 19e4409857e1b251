#!/bin/bash
#SBATCH --dependency=singleton
#SBATCH --job-name=nightly
#SBATCH --time=30

./nightly
