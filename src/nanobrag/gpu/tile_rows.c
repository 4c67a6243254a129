/* tile_rows.c - see tile_rows.h. SPDX-License-Identifier: MIT */
#include "gpu/tile_rows.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "gpu/upload.h"

/* ---- strips ---- */

int gpu_strips_of(const struct gpu_layout *layout)
{
    return (layout->down + layout->strip - 1) / layout->strip;
}

static struct gpu_strip strip_at(const struct gpu_layout *l, int first, int nslow)
{
    struct gpu_strip strip = {.first = first};
    int end;

    strip.down = first + l->strip < l->down ? l->strip : l->down - first;
    strip.slow = l->first_slow + first * GPU_SLOW;
    end = strip.slow + strip.down * GPU_SLOW;
    strip.rows = (end < nslow ? end : nslow) - strip.slow;
    strip.tiles = strip.down * l->across;
    strip.is_last = first + strip.down == l->down;
    return strip;
}

nb_status gpu_run_strips(struct progress *progress, const struct gpu *gpu,
                         const struct job *job, const struct gpu_layout *layout,
                         nb_status (*run)(void *user, const struct gpu_strip *strip),
                         void *user)
{
    for (int i = 0; i < layout->down && !progress_stopped(progress); i += layout->strip) {
        const struct gpu_strip strip = strip_at(layout, i, job->frame->nslow);

        NB_TRY(run(user, &strip));
        progress_step(progress);
    }
    if (!progress_stopped(progress)) return NB_OK;
    NB_TRY(gpu->driver->wait(progress->ctx, gpu->device)); /* for what is under way */
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

static int divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

nb_status gpu_plan_sums(nb_context *ctx, struct gpu_scene *scene,
                        const struct gpu_layout *layout, int length, int extra,
                        struct gpu_sums *out)
{
    const int tiles = layout->across * layout->down;
    size_t arrays = (size_t)tiles;
    double *from;
    int n = tiles;

    memset(out, 0, sizeof *out);
    do { /* each level is at least one launch, and writes behind what it reads */
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
