#!/bin/bash
#SBATCH --time=15
#SBATCH --mem=4000

module purge
source $HOME/env/bin/activate
python -c 'print(1)'
