/* signature.c - see signature.h. SPDX-License-Identifier: MIT */
#include "kernels/signature.h"

#include <stddef.h>

#include "base/floats.h"
#include "physics/pixel_signature.h"

void signature_of(const struct job *job, int repeats, int threads, uint64_t *signature)
{
    const struct phys_frame *frame = job->frame;
    const struct phys_view view = phys_view(frame);

    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int s = job->roi[2]; s < job->roi[3]; s++) {
        STANDARD_FLOATS;
        for (int f = job->roi[0]; f < job->roi[1]; f++)
            signature[(size_t)s * (size_t)frame->nfast + (size_t)f] =
                phys_pixel_signature(job->spec, repeats, frame, &view, s, f);
    }
}
