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
 * Minimise as nb_fit_run() does, with its results to the last bit, for any number of
 * processes and of threads in each.
 *
 *   fit   [in]  made in each process from the same shots and options; handlers, memory and
 *               threads may differ. NULL: it could not be made here, and no process runs
 *   comm  [in]  every process of it calls; duplicated for the time of the call
 *
 * Each process evaluates a contiguous range of the shots, about as many as the others, so
 * that load of nb_fit_options is called for these alone (nb_fit_create() loads each once).
 * All processes then know all shots' parts and take the same step, so that each may read
 * the result, write it or run on. Memory is that of nb_fit_run() and one part of all shots.
 * Only the thread that calls uses MPI (MPI_THREAD_FUNNELED is enough).
 *
 * A shot that fails, and is left out or ends the run, does so in all processes, with the
 * message of the one that evaluated it, up to 287 bytes. Any other error in one process,
 * such as a cancel by nb_fit_cancel() or by a progress handler, ends the run of all with
 * its status as soon as each has evaluated its range. The message of an error comes after
 * "rank N: ", with N the first process that had it.
 *
 * Errors: those of nb_fit_ask(), nb_fit_part() and nb_fit_tell(), the same in all
 * processes; NB_ERR_ARGUMENT also for fits that differ or a NULL in one of them,
 * NB_ERR_UNSUPPORTED also for parts of more than 2^31 numbers together. Errors of MPI end
 * the program, unless comm has another error handler; then NB_ERR_DEVICE, in this process
 * at the least.
 */
NB_API nb_status nb_fit_mpi(nb_fit *fit, MPI_Comm comm);

NB_END_DECLS

#endif
