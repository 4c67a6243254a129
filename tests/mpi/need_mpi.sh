# need_mpi.sh - sourced by the tests of this directory, which are skipped without mpirun.
# SPDX-License-Identifier: MIT
command -v mpirun > /dev/null 2>&1 || { echo "no mpirun here"; exit 77; }
# ranks on one machine, more of them than processors, for any user; leaks of MPI's own
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Open MPI keeps a folder for each user, which the run that ends last removes, though another
# may just be about to begin: each test has its own
mpi_folder=$(mktemp -d)
trap 'rm -rf "$mpi_folder" ${place:+"$place"}' EXIT # `place` is that of cli/lib.sh
export OMPI_MCA_orte_tmpdir_base="$mpi_folder"
export ASAN_OPTIONS=detect_leaks=0 LSAN_OPTIONS=detect_leaks=0
