#!/bin/bash
#SBATCH --partition=short,long
#SBATCH --time=30

hostname
