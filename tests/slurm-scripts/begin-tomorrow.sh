#!/bin/bash
#SBATCH --begin=now+2hours
#SBATCH --time=30

./later
