/*
 * fit_mpi.c - runs a fit among the processes of an MPI communicator.
 *
 * SPDX-License-Identifier: MIT
 */
#include <nanobrag/mpi.h>

static int exchange(void *user, double *numbers, size_t n)
{
    const MPI_Comm *comm = user;

    return MPI_Allreduce(MPI_IN_PLACE, numbers, (int)n, MPI_DOUBLE, MPI_SUM, *comm)
           != MPI_SUCCESS;
}

nb_status nb_fit_mpi(nb_fit *fit, MPI_Comm comm)
{
    MPI_Comm own;
    int rank, ranks;
    nb_status status;

    if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS) return NB_ERR_DEVICE;
    (void)MPI_Comm_rank(own, &rank);
    (void)MPI_Comm_size(own, &ranks);
    status = nb_fit_run_among(fit, rank, ranks, exchange, &own);
    (void)MPI_Comm_free(&own);
    return status;
}
