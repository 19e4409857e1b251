#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --time-min=02:00:00

./flexible
