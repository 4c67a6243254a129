/*
 * mpi.h - divides the shots of a fit among MPI processes; library nanobrag_mpi.
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
 * Every process makes the same fit and calls nb_fit_mpi(). A process that could not make
 * the fit calls it with NULL. Then each process has the result (nb_fit_result_get()).
 *
 * nanobrag.h does not include this header. It is installed only if nanobrag was built with
 * MPI. Compile with mpicc, or use find_package(nanobrag COMPONENTS mpi) and
 * nanobrag::nanobrag_mpi.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_MPI_H
#define NANOBRAG_MPI_H

#include <mpi.h>

#include <nanobrag/fit.h>

NB_BEGIN_DECLS

/*
 * Run a fit in MPI processes, as nb_fit_run_among() does.
 *
 *   fit   [in]  NULL: this process could not make the fit; then no process runs
 *   comm  [in]  every process of comm calls this function; the call works on a duplicate of
 *               comm
 *
 * Only the calling thread uses MPI, so MPI_THREAD_FUNNELED is enough.
 *
 * Errors: the errors of nb_fit_run_among(). An error of MPI ends the program, unless comm
 * has another error handler. The call then returns NB_ERR_DEVICE, at least in this process.
 */
NB_API nb_status nb_fit_mpi(nb_fit *fit, MPI_Comm comm);

NB_END_DECLS

#endif
