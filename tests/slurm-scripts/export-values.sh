#!/bin/bash
#SBATCH --export=ALL,SEED=42,NAME='a b'
#SBATCH --time=5

echo $SEED
