#!/bin/bash
#SBATCH --nice=100
#SBATCH --hold
#SBATCH --comment="waits for the data"
#SBATCH --time=30

./patient
