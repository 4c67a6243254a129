/*
 * mpi.h - fits whose shots are shared out among the processes of MPI: library nanobrag_mpi.
 *
 *   const nb_fit_options options = {.shared = "cell_a", .own = "misset scale"};
 *   static nb_shot shots[4];
 *   nb_fit *fit = NULL;
 *
 *   MPI_Init(NULL, NULL);
 *   if (nb_fit_create(ctx, 4, shots, &options, &fit) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   if (nb_fit_mpi(fit, MPI_COMM_WORLD) != NB_OK) puts(nb_context_message(ctx));
 *   nb_fit_free(fit);
 *   MPI_Finalize();
 *
 * Every process makes the same fit and calls nb_fit_mpi(), also where the fit could not be
 * made and is NULL; then each has the result (nb_fit_result_get()).
 *
 * Not part of nanobrag.h, and installed only where nanobrag was built with MPI. Compile
 * with mpicc, or find_package(nanobrag COMPONENTS mpi) and nanobrag::nanobrag_mpi.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_MPI_H
#define NANOBRAG_MPI_H

#include <mpi.h>

#include <nanobrag/fit.h>

NB_BEGIN_DECLS

/*
 * nb_fit_run_among() for the processes of MPI.
 *
 *   fit   [in]  NULL: it could not be made here, and no process runs
 *   comm  [in]  every process of it calls; duplicated for the time of the call
 *
 * Only the thread that calls uses MPI (MPI_THREAD_FUNNELED is enough).
 *
 * Errors: as nb_fit_run_among(). An error of MPI ends the program, unless comm has another
 * error handler; then the call returns NB_ERR_DEVICE, in this process at the least.
 */
NB_API nb_status nb_fit_mpi(nb_fit *fit, MPI_Comm comm);

NB_END_DECLS

#endif
