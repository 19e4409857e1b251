#!/bin/bash
#SBATCH --dependency=afterok:1234
#SBATCH --time=10

./second-stage
