#!/bin/bash
#SBATCH --x11
#SBATCH --time=30

xterm
