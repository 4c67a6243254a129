#!/bin/sh
# install.sh CMAKE BUILD GENERATOR CC - what is installed can be used: by find_package
# (shared and static), by pkg-config, and as a program. SPDX-License-Identifier: MIT
set -eu
cmake=$1
build=$2
generator=$3
compiler=$4
rm -rf prefix user user_mpi user.log
"$cmake" --install "$build" --prefix "$PWD/prefix" > install.log

for file in include/nanobrag/nanobrag.h bin/nanobrag share/man/man1/nanobrag.1 \
    share/bash-completion/completions/nanobrag; do
    [ -s "prefix/$file" ] || { echo "prefix/$file is missing"; exit 1; }
done
prefix/bin/nanobrag --version
bash -n prefix/share/bash-completion/completions/nanobrag

mkdir user
cat > user/main.c << 'END'
#include <stdio.h>
#include <nanobrag/nanobrag.h>
int main(void)
{
    nb_context *ctx;
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    puts(nb_version());
    nb_context_free(ctx);
    return 0;
}
END
cat > user/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(nanobrag 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE nanobrag::nanobrag)
add_executable(static main.c)
target_link_libraries(static PRIVATE nanobrag::nanobrag_static)
END
"$cmake" -S user -B user/build -G "$generator" -DCMAKE_PREFIX_PATH="$PWD/prefix" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release > user.log
"$cmake" --build user/build >> user.log
user/build/shared
user/build/static

# fits by several processes, where they were built
if [ -e prefix/include/nanobrag/mpi.h ]; then
    mkdir user_mpi
    cat > user_mpi/main.c << 'END'
#include <stdio.h>
#include <nanobrag/mpi.h>
int main(int argc, char **argv)
{
    nb_status status;
    MPI_Init(&argc, &argv);
    status = nb_fit_mpi(NULL, MPI_COMM_WORLD);
    printf("mpi: %s\n", nb_status_text(status));
    MPI_Finalize();
    return status == NB_ERR_ARGUMENT ? 0 : 1;
}
END
    cat > user_mpi/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(user_mpi LANGUAGES C)
find_package(nanobrag 0.1 REQUIRED COMPONENTS mpi)
add_executable(user main.c)
target_link_libraries(user PRIVATE nanobrag::nanobrag_mpi)
END
    "$cmake" -S user_mpi -B user_mpi/build -G "$generator" \
        -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_C_COMPILER="$compiler" > user_mpi.log
    "$cmake" --build user_mpi/build >> user_mpi.log
    user_mpi/build/user
    prefix/bin/nanobrag_mpi -version
fi

if command -v pkg-config > /dev/null 2>&1; then
    pc=$(find "$PWD/prefix" -name nanobrag.pc)
    PKG_CONFIG_PATH=${pc%/*}
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    "$compiler" user/main.c -o user/pc $(pkg-config --cflags --libs nanobrag) \
        "-Wl,-rpath,$(pkg-config --variable=libdir nanobrag)"
    user/pc
    if [ -e prefix/include/nanobrag/mpi.h ] && command -v mpicc > /dev/null 2>&1; then
        # shellcheck disable=SC2046
        OMPI_CC=$compiler mpicc user_mpi/main.c -o user_mpi/pc \
            $(pkg-config --cflags --libs nanobrag_mpi) \
            "-Wl,-rpath,$(pkg-config --variable=libdir nanobrag_mpi)"
        user_mpi/pc
    fi
    # every example as it stands
    for example in "$(dirname "$(find "$PWD/prefix" -path '*examples/fit.c')")"/*.c; do
        name=$(basename "$example" .c)
        libraries=-lm
        if [ "$name" = fit_nlopt ]; then
            [ -e /usr/include/nlopt.h ] || continue
            libraries="-lnlopt -lm"
        fi
        # shellcheck disable=SC2046,SC2086
        "$compiler" "$example" -o "user/$name" $(pkg-config --cflags --libs nanobrag) \
            $libraries "-Wl,-rpath,$(pkg-config --variable=libdir nanobrag)"
        (cd user && "./$name" > "$name.log" 2>&1) || {
            cat "user/$name.log"
            grep -q 'has no' "user/$name.log" || { echo "examples/$name.c fails"; exit 1; }
        }
    done
    # docs/fitting.md as it stands, where it was installed
    doc=$(find "$PWD/prefix" -name fitting.md)
    top=${doc%/docs/fitting.md}
    sed -n '/^```sh$/,/^```$/p' "$doc" | grep -v '^```' > user/fit.sh
    cp -r "$top/examples" user
    program=$(find "$PWD/prefix" -name nanobrag -type f -path '*bin*')
    (cd user && PATH=${program%/*}:$PATH \
        LD_LIBRARY_PATH=$(pkg-config --variable=libdir nanobrag) sh -e fit.sh) > fit.log
    grep -q '^loss -*[0-9]' fit.log || { echo "docs/fitting.md: no fit"; exit 1; }
    [ -s "$top/examples/data/2erl_p1.hkl" ] || { echo "no example data"; exit 1; }
fi
