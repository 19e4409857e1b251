#!/bin/bash
#SBATCH --cpus-per-task=16 --mem=64G --time=05:00:00 --licenses=matlab:1

matlab -batch "run('main.m')"
