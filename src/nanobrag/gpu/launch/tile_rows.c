/*
 * tile_rows.c - divides layouts into strips, and plans the sum over all tiles.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/launch/tile_rows.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "gpu/launch/layout.h"
#include "gpu/upload.h"

/* ---- strips ---- */

int gpu_strips_of(const struct gpu_layout *layout)
{
    return divide_up(layout->down, layout->strip);
}

struct gpu_strip gpu_strip_at(const struct gpu_layout *l, int nslow, int i)
{
    const int first = i * l->strip, down = min_int(l->strip, l->down - first);
    const int slow = l->first_slow + first * GPU_SLOW;
    const struct gpu_strip strip = {.first = first,
                                    .down = down,
                                    .slow = slow,
                                    .rows = min_int(down * GPU_SLOW, nslow - slow),
                                    .tiles = down * l->across,
                                    .is_last = first + down == l->down};

    return strip;
}

nb_status gpu_run_launches(struct progress *progress, const struct gpu *gpu, int n,
                           nb_status (*run)(void *user, int i), void *user)
{
    for (int i = 0; i < n && !progress_stopped(progress); i++) {
        NB_TRY(run(user, i));
        progress_step(progress);
    }
    if (!progress_stopped(progress)) return NB_OK;
    NB_TRY(gpu->driver->wait(progress->ctx, gpu->device)); /* some launches are under way */
    return progress_check(progress);
}

nb_status gpu_run_with(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_sequence *sequence, const void *parameters,
                       size_t bytes)
{
    NB_TRY(gpu_send_parameters(ctx, scene, parameters, bytes));
    return gpu_run(ctx, scene, job, sequence);
}

nb_status gpu_fetch_strip(nb_context *ctx, const struct gpu_scene *scene,
                          const struct job *job, const struct gpu_strip *strip,
                          gpu_address from, double *to)
{
    const size_t pixels = (size_t)strip->rows * (size_t)job->frame->nfast;

    return scene->gpu->driver->download(ctx, scene->gpu->device, to, from,
                                        pixels * sizeof *to);
}

/* ---- the sum over all tiles ---- */

nb_status gpu_plan_sums(nb_context *ctx, struct gpu_scene *scene,
                        const struct gpu_layout *layout, int length, int extra,
                        struct gpu_sums *out)
{
    const int tiles = layout->across * layout->down;
    size_t arrays = (size_t)tiles;
    double *from;
    int n = tiles;

    memset(out, 0, sizeof *out);
    do { /* there is at least one level; each writes behind the numbers that it reads */
        struct gpu_sum_parameters *level = out->level + out->levels++;

        assert(out->levels <= SUM_LEVELS);
        level->count = n;
        level->length = length;
        n = divide_up(n, SUM_FAN);
        arrays += (size_t)n;
    } while (n > 1);
    NB_TRY(gpu_reserve(ctx, scene->gpu, &scene->totals,
                       (arrays * (size_t)length + (size_t)extra) * sizeof(double)));
    from = gpu_pointer(&scene->totals);
    for (int i = 0; i < out->levels; i++) {
        struct gpu_sum_parameters *level = out->level + i;

        level->from = from;
        from += (size_t)level->count * (size_t)length;
        level->to = from;
    }
    return NB_OK;
}

double *gpu_totals_of(const struct gpu_scene *scene, const struct gpu_sums *sums,
                      const struct gpu_layout *layout, const struct gpu_strip *strip)
{
    double *totals = gpu_pointer(&scene->totals);

    return totals
           + (size_t)strip->first * (size_t)layout->across * (size_t)sums->level[0].length;
}

gpu_address gpu_sum_of(const struct gpu_sums *sums)
{
    return (gpu_address)(uintptr_t)sums->level[sums->levels - 1].to;
}

void gpu_add_sums(const struct gpu_sums *sums, int single, size_t offset,
                  struct gpu_sequence *sequence)
{
    for (int i = 0; i < sums->levels; i++) {
        const struct gpu_launch launch = {{GPU_SUM, 0, 0, single, NULL},
                                          (unsigned)divide_up(sums->level[i].count,
                                                              SUM_FAN),
                                          offset + offsetof(struct gpu_sums, level)
                                              + (size_t)i * sizeof *sums->level,
                                          0};

        sequence->launches[sequence->n++] = launch;
    }
}
