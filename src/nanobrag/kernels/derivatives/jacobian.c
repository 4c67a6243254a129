/* jacobian.c - computes the Jacobian of an image, tile by tile. SPDX-License-Identifier:
 * MIT */
#include "kernels/derivatives/jacobian.h"

#include <math.h>
#include <stdlib.h>

#include "base/floats.h"
#include "base/progress.h"
#include "base/threads.h"
#include "kernels/continuous/rows.h"
#include "kernels/derivatives/adjoint.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"
#include "kernels/spots/attempts.h"
#include "kernels/spots/rows/tile_spots.h"

/* A tile that depends on more structure factors than this is cut into halves. */
enum { MOST_COLUMNS = 512 };

/* Returns the number of free structure factors, and one more for default_f. */
static size_t owners_of(const struct jacobian_sizes *n)
{
    return n->box > 0 ? n->f + 1 : 0;
}

/* Returns how many numbers the columns hold, at least all columns of a single pixel. */
static size_t columns_numbers(const struct jacobian_sizes *n)
{
    const size_t owners = owners_of(n);
    const size_t tile = (owners < MOST_COLUMNS ? owners : MOST_COLUMNS) * TILE_PIXELS;

    return owners < tile ? tile : owners;
}

static size_t lists_bytes(const struct jacobian_sizes *n)
{
    return jacobian_workspace_size(n->at_once, n->sources, n->orientations);
}

static void take_columns(struct arena *arena, const struct jacobian_sizes *n,
                         const struct jacobian_work *work, struct columns *c)
{
    c->owner = work->owner;
    c->at = arena_take(arena, owners_of(n), sizeof *c->at);
    c->used = arena_take(arena, owners_of(n), sizeof *c->used);
    c->capacity = columns_numbers(n);
    c->slope = arena_take(arena, c->capacity, sizeof *c->slope);
    c->box = arena_take(arena, n->by_pixel, sizeof *c->box);
    c->touched.place = arena_take(arena, n->by_pixel, sizeof *c->touched.place);
    c->touched.mark = arena_take(arena, n->by_pixel, 1);
    for (size_t i = 0; c->at && i < owners_of(n); i++) c->at[i] = -1;
}

static void take_workspace(struct arena *arena, const struct jacobian_sizes *n,
                           const struct jacobian_work *work, struct jacobian_workspace *out)
{
    const size_t change = n->at_once * TILE_PIXELS;

    out->lists = arena_take(arena, lists_bytes(n), 1);
    out->scratch = arena_take(arena, TILE_SCRATCH, 1);
    out->change = arena_take(arena, change, sizeof *out->change);
    take_columns(arena, n, work, &out->columns);
    if (n->lattices < 2) return;
    out->other_change = arena_take(arena, change, sizeof *out->other_change);
    take_columns(arena, n, work, &out->other_columns);
}

/* Takes the arrays for the tangents of one lattice from an arena. */
static void take_tangents(struct arena *arena, const struct jacobian_sizes *n,
                          struct jacobian_work *out)
{
    const size_t rows = n->of_panels > 0 ? n->of_panels : n->tangents;

    out->sizes = *n;
    out->dot = arena_take(arena, n->tangents, sizeof *out->dot);
    out->rotates = arena_take(arena, n->tangents, 1);
    out->panel = arena_take(arena, n->panels, sizeof *out->panel);
    out->which = arena_take(arena, n->of_panels, sizeof *out->which);
    out->of_panels = arena_take(arena, n->of_panels, sizeof *out->of_panels);
    out->panels_rotate = arena_take(arena, n->of_panels, 1);
    out->block = arena_take(arena, rows / ROW_BLOCK + n->panels, sizeof *out->block);
    out->place = arena_take(arena, rows, sizeof *out->place);
    out->factor = arena_take(arena, rows, sizeof *out->factor);
    out->turn = arena_take(arena, n->orientations, sizeof *out->turn);
    for (size_t i = 0; i < n->tangents; i++) {
        struct phys_frame_tangent none, *dot = out->dot ? out->dot + i : &none;

        dot->source = arena_take(arena, n->sources, sizeof *dot->source);
        dot->rotation = arena_take(arena, n->orientations, sizeof *dot->rotation);
    }
}

void jacobian_take(struct arena *arena, const struct jacobian_sizes *n,
                   struct jacobian_work *out)
{
    struct jacobian_work *at = out, unknown;

    take_tangents(arena, n, out);
    out->owner = arena_take(arena, n->box, sizeof *out->owner);
    out->workspace = arena_take(arena, n->threads, sizeof *out->workspace);
    for (size_t l = 1; l < n->lattices; l++) {
        at->next = arena_take(arena, 1, sizeof *at->next);
        at = at->next ? at->next : &unknown;
        take_tangents(arena, n, at);
    }
    for (size_t i = 0; i < n->threads; i++) {
        struct jacobian_workspace none;

        take_workspace(arena, n, out, out->workspace ? out->workspace + i : &none);
    }
}

/* ---- the tangents of each panel ---- */

void jacobian_start_panel(const struct jacobian_work *work, int panel)
{
    struct panel_tangents *of = work->panel + panel;
    const size_t at = panel == 0 ? 0 : (size_t)(of[-1].which - work->which) + of[-1].n;

    of->n = 0;
    of->which = work->which + at;
    of->dot = work->of_panels + at;
    of->rotates = work->panels_rotate + at;
}

struct phys_frame_tangent *jacobian_add(const struct jacobian_work *work, int panel,
                                        int which)
{
    struct panel_tangents *of = work->panel + panel;

    of->which[of->n] = which;
    of->dot[of->n] = work->dot[which];
    return of->dot + of->n++;
}

/* Makes the only panel of a detector without panels refer to all n tangents. */
static void take_all(const struct jacobian_work *work, int n)
{
    struct panel_tangents *of = work->panel;

    of->n = (size_t)n;
    of->which = NULL;
    of->dot = work->dot;
    of->rotates = work->rotates;
}

/* Fills in the members `along` and `rows` of all panels. */
static void find_directions(const struct job *job, int n, const struct jacobian_work *work)
{
    const struct tangents all = jacobian_tangents(job->frame, n, work->dot, work->rotates);
    size_t blocks = 0, rows = 0;

    if (work->sizes.of_panels == 0) take_all(work, n);
    for (size_t p = 0; p < work->sizes.panels; p++) {
        struct panel_tangents *of = work->panel + p;

        of->along = (struct tangents){(int)of->n, of->dot, of->rotates, 0};
        of->rows.block = work->block + blocks;
        of->rows.place = work->place + rows;
        of->rows.factor = work->factor + rows;
        of->rows.turn = work->turn;
        blocks += of->n / ROW_BLOCK + 1;
        rows += of->n;
        for (size_t k = 0; k < of->n; k++) {
            of->rotates[k] = all.rotates[jacobian_which(of, k)];
            of->along.numbers |= phys_changed_numbers(of->dot + k);
        }
    }
}

/* The arguments of one run over all tiles, for one lattice. */
struct run {
    const struct job *job; /* the job of the image */
    const struct kernel_set *kernels;
    const struct jacobian_work *work;
    const struct jacobian_reader *reader;
    struct rounding rounding;
    const struct spots_work *listed; /* the spots of the tiles; NULL: rows are by lanes */
    const struct continuous_rows *continuous; /* spots of a continuous crystal; or NULL */
    const struct run *next; /* the next lattice, whose rows are added; or NULL */
};

/* Adds the column of default_f, times its change along each tangent, to `change`. */
static void add_default(const struct run *run, const struct tangents *along, int pixels,
                        const struct columns *c, double *change)
{
    const int at = c->at[run->work->sizes.f];

    for (int d = 0; at >= 0 && d < along->n; d++)
        for (int i = 0; i < pixels; i++)
            change[d * TILE_PIXELS + i] +=
                along->dot[d].default_f * c->slope[(size_t)at * (size_t)pixels + (size_t)i];
}

/* Computes the photons of a tile's pixels and their derivatives for one lattice, by lanes
 * or from its spots. */
static void find_rows(const struct run *run, const struct adjoint_kernels *adjoint_kernels,
                      const struct tile *tile, const struct jacobian_workspace *workspace,
                      struct columns *columns, double *photons, double *change)
{
    struct job panel = job_of_panel(run->job, tile->panel);
    const struct job *job = &panel;
    const struct panel_tangents *of = run->work->panel + tile->panel;

    panel.scratch = workspace->scratch;
    if (run->continuous) {
        const int whole =
            adjoint_kernels->continuous_tile(job, tile, &of->rows, run->continuous, columns,
                                             photons, change);

        if (!whole && !(columns && columns->full))
            adjoint_kernels->amorphous_rows(job, tile, &of->along, photons, change);
        return;
    }
    if (run->listed) {
        const struct spot_list spots = tile_spots_of(run->listed, job, tile);

        adjoint_kernels->spot_rows(job, tile, &of->rows, &spots, workspace->lists, columns,
                                   photons, change);
        if (columns && columns->full) return;
        adjoint_kernels->amorphous_rows(job, tile, &of->along, photons, change);
        return;
    }
    adjoint_kernels->jacobian[job->spec.shape][job->spec.lookup](job, tile, &of->along,
                                                                 workspace->lists, columns,
                                                                 photons, change);
}

static void add(int n, const double *from, double *to)
{
    for (int i = 0; i < n; i++) to[i] += from[i];
}

/* Adds columns of `lanes` numbers to the columns of `to` and removes them from `from`. */
static void move_columns(int lanes, struct columns *from, struct columns *to)
{
    for (int c = 0; c < from->n && !to->full; c++) {
        double *column = columns_of(to, from->used[c], lanes);

        if (column) add(lanes, from->slope + (size_t)c * (size_t)lanes, column);
    }
    to->full |= from->full;
    columns_clear(from);
}

/* Computes the photons of a tile's pixels and their derivatives, summed over the
 * lattices. */
static void find_all_rows(const struct run *run,
                          const struct adjoint_kernels *adjoint_kernels,
                          const struct tile *tile, struct jacobian_workspace *workspace,
                          struct columns *columns, double *photons)
{
    const int lanes = grid_lanes(tile), n = (int)run->work->panel[tile->panel].n;
    struct columns *other = columns ? &workspace->other_columns : NULL;
    double own[TILE_PIXELS];

    find_rows(run, adjoint_kernels, tile, workspace, columns, photons, workspace->change);
    for (run = run->next; run && !(columns && columns->full); run = run->next) {
        find_rows(run, adjoint_kernels, tile, workspace, other, own,
                  workspace->other_change);
        add(lanes, own, photons);
        for (int k = 0; k < n; k++)
            add(lanes, workspace->other_change + (size_t)k * TILE_PIXELS,
                workspace->change + (size_t)k * TILE_PIXELS);
        if (other) move_columns(lanes, other, columns);
    }
}

/* Computes the Jacobian of a tile and passes it to the reader. If the tile depends on more
 * structure factors than the columns hold, this is done for each half. Returns the
 * brightest pixel, photons. */
static double part_jacobian(const struct run *run,
                            const struct adjoint_kernels *adjoint_kernels, struct tile tile,
                            int chunk, struct jacobian_workspace *workspace)
{
    const struct job job = job_of_panel(run->job, tile.panel);
    const struct panel_tangents *of = run->work->panel + tile.panel;
    struct columns *columns = run->work->sizes.box > 0 ? &workspace->columns : NULL;
    double photons[TILE_PIXELS];
    const struct jacobian_tile jacobian = {tile, photons, of, workspace->change, columns};
    double peak;

    if (grid_rendered(&tile) == 0) return 0;
    find_all_rows(run, adjoint_kernels, &tile, workspace, columns, photons);
    if (columns && columns->full) {
        const int wide = tile.width > tile.height;
        const int width = wide ? tile.width / 2 : tile.width;
        const int height = wide ? tile.height : tile.height / 2;
        const struct tile one = grid_piece(&tile, 0, 0, width, height);
        const struct tile other =
            wide ? grid_piece(&tile, width, 0, tile.width - width, height)
                 : grid_piece(&tile, 0, height, width, tile.height - height);

        columns_clear(columns);
        peak = part_jacobian(run, adjoint_kernels, one, chunk, workspace);
        return fmax(peak, part_jacobian(run, adjoint_kernels, other, chunk, workspace));
    }
    if (columns)
        add_default(run, &of->along, grid_lanes(&tile), columns, workspace->change);
    run->reader->tile(run->reader->user, chunk, &job, adjoint_kernels, &jacobian);
    if (columns) columns_clear(columns);
    return grid_peak(&job, &tile, photons);
}

/* Computes the Jacobian of a tile, divided into parts as its rounding error demands. */
static double divided_jacobian(const struct run *run, const struct tile *tile, int chunk,
                               struct jacobian_workspace *workspace)
{
    const struct kernel_set *k = run->kernels;
    double left, peak = 0;
    const int n = tiles_divisions(k, run->job, &run->rounding, tile, &left);
    const int parts = n == TILE_IN_DOUBLE ? 1 : 1 << n;
    const struct adjoint_kernels *lanes =
        n == TILE_IN_DOUBLE ? k->adjoint_precise : k->adjoint_single;
    const struct adjoint_kernels *use =
        adjoint_is_plain(run->job->frame) ? lanes : &adjoint_kernels_reference;

    for (int i = 0; i < parts * parts; i++)
        peak = fmax(peak,
                    part_jacobian(run, use, grid_part(tile, parts, i), chunk, workspace));
    return peak;
}

/* Computes the Jacobian of a tile. If job->reach lists the pairs of source and orientation
 * that reach each cell of the tile, each cell is computed by itself, with its pairs
 * alone. */
static double tile_by_cells_jacobian(const struct run *run, const struct tile *tile,
                                     int chunk, struct jacobian_workspace *workspace)
{
    double peak = 0;

    if (run->reader->ahead) run->reader->ahead(run->reader->user, run->job, tile);
    if (run->listed || run->continuous)
        return part_jacobian(run, run->kernels->adjoint_precise, *tile, chunk, workspace);
    if (!run->job->reach) return divided_jacobian(run, tile, chunk, workspace);
    for (int i = 0; i < CELLS;) {
        const struct tile part =
            run->next ? reach_next(NULL, tile, &i) : reach_next(run->job->reach, tile, &i);

        peak = fmax(peak, divided_jacobian(run, &part, chunk, workspace));
    }
    return peak;
}

/* Returns the number of chunks that the reader asks for. */
static int chunks_of(const struct run *run)
{
    return run->reader->chunks > 0 ? run->reader->chunks : grid_count(run->job);
}

/* Returns how many threads work on `chunks` chunks. */
static int threads_of(const struct run *run, int chunks)
{
    const int most = (int)run->work->sizes.threads; /* threads that have a workspace */
    const int asked = run->job->schedule.threads;
    const int threads = asked < most ? asked : most;

    return threads < chunks ? threads : chunks > 0 ? chunks : 1;
}

static void start_chunks(const struct run *run)
{
    const int chunks = chunks_of(run), threads = threads_of(run, chunks);

#pragma omp parallel for num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++)
        run->reader->start(run->reader->user, chunk);
    (void)threads; /* unused without OpenMP, as in tiles_jacobian() */
}

/* Computes the Jacobian of the tiles first .. end - 1; all tiles before are done already.
 * The share `begin` of these tiles' progress is over already. */
static nb_status tiles_jacobian(struct progress *progress, const struct run *run, int first,
                                int end, double begin, double *brightest)
{
    const int chunks = chunks_of(run);
    const double count = grid_count(run->job), n = end - first;
    const int some = end - first < chunks ? end - first : chunks; /* chunks with a tile */
    const int threads = threads_of(run, some), block = run->job->schedule.block;
    double peak = *brightest;

    if (n > 0)
        progress_part(progress, (first + begin * n) / count, (1 - begin) * n / count,
                      end - first);
#pragma omp parallel for schedule(dynamic, block) num_threads(threads) reduction(max : peak)
    for (int i = 0; i < some; i++) {
        STANDARD_FLOATS;
        struct jacobian_workspace *workspace = run->work->workspace + threads_index();

        for (int t = first + i; t < end; t += chunks) {
            const struct tile tile = grid_tile(run->job, t);

            if (progress_stopped(progress)) continue;
            peak = fmax(peak, tile_by_cells_jacobian(run, &tile, t % chunks, workspace));
            progress_step(progress);
        }
    }
    (void)threads, (void)block;
    *brightest = peak;
    return progress_check(progress);
}

/* Returns 1 when an orientation rotates or changes its weight along a tangent. */
static int any_rotates(const struct phys_frame_tangent *dot, int orientations)
{
    for (int k = 0; k < orientations; k++) {
        const struct phys_rotation *t = dot->rotation + k;

        if (t->by[0] != 0 || t->by[1] != 0 || t->by[2] != 0 || t->weight != 0) return 1;
    }
    return 0;
}

struct tangents jacobian_tangents(const struct phys_frame *frame, int n,
                                  const struct phys_frame_tangent *dot,
                                  unsigned char *rotates)
{
    struct tangents along = {n, dot, rotates, 0};

    for (int d = 0; d < n; d++) {
        rotates[d] = (unsigned char)any_rotates(dot + d, frame->norientation);
        along.numbers |= phys_changed_numbers(dot + d);
    }
    return along;
}

/* Computes the Jacobian from the spots of each tile, batch by batch. If a batch has too
 * many spots, *listed becomes 0 and the function ends; the reader may have got tiles by
 * then. */
static nb_status spots_jacobian(struct progress *progress, struct attempts *attempts,
                                struct run *run, int *listed, double *peak)
{
    const int count = grid_count(&attempts->job);
    struct spot_batch batch = tile_spots_start(attempts);

    *listed = 1;
    for (size_t p = 0; p < run->work->sizes.panels; p++) {
        const struct job panel = job_of_panel(&attempts->job, (int)p);
        struct panel_tangents *of = run->work->panel + p;

        tile_spots_tangents(&panel, &of->along, attempts->spot.share, &of->rows);
    }
    run->listed = attempts->work;
    start_chunks(run);
    while (batch.end < count) {
        NB_TRY(tile_spots_find(progress, attempts, &batch, listed));
        if (!*listed) break;
        NB_TRY(tiles_jacobian(progress, run, batch.tile, batch.end, attempts->begin, peak));
    }
    return NB_OK;
}

/* One lattice of a Jacobian. */
struct lattice {
    struct job job;
    struct attempts attempts;
    struct run run;
    struct continuous_rows rows;
};

/* Finds the derivatives of the spots of one lattice of a continuous crystal. */
static nb_status find_changes(struct progress *progress, struct continuous_work *work,
                              struct lattice *l)
{
    struct run *run = &l->run;
    const size_t panels = run->work->sizes.panels;
    const struct tangents **along =
        malloc((panels + 1) * sizeof(const struct tangents *)); /* NOLINT */
    nb_status status;

    if (!along) return fail_memory(progress->ctx, "a Jacobian");
    for (size_t p = 0; p < panels; p++) {
        const struct job panel = job_of_panel(run->job, (int)p);
        struct panel_tangents *of = run->work->panel + p;

        along[p] = &of->along;
        tile_spots_tangents(&panel, &of->along, 0, &of->rows);
    }
    status = continuous_rows_find(progress, run->kernels, run->job, along, work, &l->rows);
    free(along);
    run->continuous = &l->rows;
    return status;
}

/* Computes the Jacobian of a continuous crystal with n lattices. */
static nb_status continuous_jacobian(struct progress *progress, struct spots_work *spots,
                                     int n, struct lattice *lattice)
{
    const struct run *run = &lattice->run;
    nb_status status = NB_OK;
    double peak = 0;

    for (int l = 0; l < n && status == NB_OK; l++)
        status = find_changes(progress, spots[l].continuous, lattice + l);
    if (status == NB_OK) {
        start_chunks(run);
        status = tiles_jacobian(progress, run, 0, grid_count(run->job), 0, &peak);
    }
    for (int l = 0; l < n; l++) {
        if (status == NB_OK && *lattice[l].rows.no_memory)
            status = fail_memory(progress->ctx, "a Jacobian");
        continuous_rows_free(&lattice[l].rows);
    }
    return status;
}

/* Computes the Jacobian once: from the spots of each tile if that is possible, else by
 * lanes. Several lattices are always done by lanes. */
static nb_status attempt_jacobian(struct progress *progress, int n, struct lattice *lattice,
                                  double *peak)
{
    struct attempts *attempts = &lattice->attempts;
    struct run *run = &lattice->run;
    int listed = 0;

    *peak = 0;
    if (n == 1 && attempts->work && adjoint_is_plain(attempts->job.frame)
        && tile_spots_suit(&attempts->job))
        NB_TRY(spots_jacobian(progress, attempts, run, &listed, peak));
    if (listed) {
        attempts->kernels.single = NULL; /* rows from spots are in double already */
        return NB_OK;
    }
    run->listed = NULL;
    *peak = 0;
    for (int l = 0; l < n; l++) NB_TRY(attempts_find_pairs(progress, &lattice[l].attempts));
    start_chunks(run);
    return tiles_jacobian(progress, run, 0, grid_count(run->job), attempts->begin, peak);
}

/* Returns 1 if any of n lattices needs another attempt. */
static int again(int n, struct lattice *lattice, double peak)
{
    int any = 0;

    for (int l = 0; l < n; l++) any |= attempts_again(&lattice[l].attempts, peak);
    return any;
}

/* Fills in lattice l. If there are several lattices, their lanes are in double. */
static void start_lattice(const struct run *of, const struct job *job, int n, int l,
                          struct spots_work *spots, struct lattice *out)
{
    struct attempts *attempts = &out->attempts;

    out->job = job_of_lattice(job, l);
    *attempts = attempts_first(of->kernels, &out->job, spots);
    if (job->lattices > 1) attempts->kernels.single = NULL;
    out->run = *of;
    out->run.rounding = rounding_of(out->job.frame, out->job.spec);
    find_directions(&out->job, n, of->work);
    attempts->job.fixed = PHYS_FIXED_SCALE | PHYS_FIXED_PIXELS;
    for (size_t p = 0; p < of->work->sizes.panels; p++)
        for (size_t k = 0; k < of->work->panel[p].n && attempts->job.fixed; k++)
            attempts->job.fixed &=
                phys_fixed_along(out->job.frame->nsource, of->work->panel[p].dot + k);
    out->run.job = &attempts->job;
    out->run.kernels = &attempts->kernels;
}

nb_status jacobian_run(struct progress *progress, const struct kernel_set *kernels,
                       const struct job *job, int n, const struct jacobian_work *work,
                       const struct jacobian_reader *reader, struct spots_work *spots)
{
    const int lattices = job->lattices > 1 ? job->lattices : 1;
    struct lattice one = {0};
    struct lattice *lattice =
        lattices > 1 ? calloc((size_t)lattices, sizeof *lattice) : &one;
    struct run run = {.kernels = kernels, .work = work, .reader = reader};
    nb_status status;
    double peak;

    if (!lattice) return fail_memory(progress->ctx, "a Jacobian");
    for (int l = 0; l < lattices; l++, run.work = run.work->next) {
        start_lattice(&run, job, n, l, spots ? spots + l : NULL, lattice + l);
        if (l > 0) lattice[l - 1].run.next = &lattice[l].run;
    }
    progress_weigh(progress, lattices);
    progress_start(progress, job->planned);
    if (job->frame->continuous)
        status = spots ? continuous_jacobian(progress, spots, lattices, lattice)
                       : fail_memory(progress->ctx, "a Jacobian");
    else
        do status = attempt_jacobian(progress, lattices, lattice, &peak);
        while (status == NB_OK && again(lattices, lattice, peak));
    if (lattice != &one) free(lattice);
    NB_TRY(status);
    return progress_end(progress);
}
