#!/bin/bash
#SBATCH --profile=task
#SBATCH --acctg-freq=30
#SBATCH --wckey=lab
#SBATCH --propagate=STACK
#SBATCH --cpu-freq=high
#SBATCH --time=10

./measured
