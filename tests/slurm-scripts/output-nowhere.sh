#!/bin/bash
#SBATCH --output=/dev/null
#SBATCH --error=/dev/null
#SBATCH --input=data.txt
#SBATCH --time=5

wc -l
