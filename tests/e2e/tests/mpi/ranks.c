/* One rank of a program of MPI: says which it is and where, once all have spoken to each other.
 * "stay": then it writes its file and stays, deaf to SIGTERM. "fail": the last rank aborts all, with 9. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, length, sum = 0;
    char host[MPI_MAX_PROCESSOR_NAME], name[64];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s, all ranks make %d\n", rank, size, host, sum);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (argc > 1 && strcmp(argv[1], "stay") == 0) {
        signal(SIGTERM, SIG_IGN);
        snprintf(name, sizeof name, "rank-%d", rank);
        fclose(fopen(name, "w"));
        for (;;)
            pause();
    }
    MPI_Finalize();
    return 0;
}
