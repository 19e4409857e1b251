#!/bin/bash
#SBATCH -J nf -c 2 --mem 8G -t 2-0:0:0

nextflow run main.nf -profile slurm
