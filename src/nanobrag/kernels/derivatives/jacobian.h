/*
 * jacobian.h - the Jacobian of an image, tile by tile. A reader receives the Jacobian of
 * each tile as soon as it is computed; no tile's Jacobian is kept.
 *
 * Tiles are assigned to chunks, as many as the reader asks for. One thread at a time works
 * on a chunk, tile by tile in order. So a reader that adds by chunks gets the same bits for
 * any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DERIVATIVES_JACOBIAN_H
#define NB_KERNELS_DERIVATIVES_JACOBIAN_H

#include "base/arena.h"
#include "base/context.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots.h"

struct jacobian_sizes {
    size_t tangents; /* largest number of tangents */
    /* panels: number of panels. at_once: largest number of tangents along which one panel
     * changes. of_panels: sum of these numbers over the panels. A detector that is one
     * rectangle has 1, tangents, 0. */
    size_t panels, at_once, of_panels;
    size_t f; /* number of free structure factors */
    /* lengths of the lists of a tangent; box 0: no derivatives by F */
    size_t sources, orientations, box;
    size_t by_pixel; /* equal to `box` if the reference kernel may run; else 0 */
    size_t threads;
    size_t lattices; /* number of lattices; 0 stands for 1 */
};

/* The workspace of one thread. */
struct jacobian_workspace {
    void *lists; /* jacobian_workspace_size() bytes */
    void *scratch; /* TILE_SCRATCH bytes */
    double *change; /* (at_once x TILE_PIXELS) derivatives of the photons */
    struct columns columns;
    /* `change` and `columns` of a further lattice until they are added; NULL if there is
     * none */
    double *other_change;
    struct columns other_columns;
};

/* The tangents along which the photons of a panel change. */
struct panel_tangents {
    size_t n;
    int *which; /* (n) their indices among all tangents; NULL: all, in order */
    /* (n) the tangents with the numbers of this panel; jacobian_work.dot owns their
     * lists */
    struct phys_frame_tangent *dot;
    unsigned char *rotates; /* (n) as in struct tangents */
    struct tangents along; /* these tangents in the form that the lanes need */
    struct row_tangents rows; /* these tangents in the form that the spots need */
};

struct jacobian_work {
    struct jacobian_sizes sizes;
    /* (tangents), filled in by the caller, with their lists. If there are several panels,
     * the first PHYS_PANEL_NUMBERS numbers of each tangent are 0 here, and the caller fills
     * in `panel` too, panel after panel: jacobian_start_panel(), then jacobian_add() in the
     * order of the tangents. */
    struct phys_frame_tangent *dot;
    unsigned char *rotates;
    struct panel_tangents *panel; /* (panels) */
    int *which; /* this and the next six arrays hold the lists of all panels */
    struct phys_frame_tangent *of_panels;
    unsigned char *panels_rotate;
    struct row_block *block;
    struct row_place *place;
    struct row_factor *factor;
    struct row_turn *turn;
    int *owner; /* (box) index of the free structure factor at each place of the box, filled
                   in by the caller: `f` at the places of default_f, -1 if it is not free */
    struct jacobian_workspace *workspace; /* (threads) */
    /* for the next lattice, without workspaces; NULL: this lattice is the last */
    struct jacobian_work *next;
};

/* Takes the arrays from an arena (base/arena.h). */
void jacobian_take(struct arena *arena, const struct jacobian_sizes *n,
                   struct jacobian_work *out);

/* jacobian_start_panel() begins the tangents of a panel; call it for the panels in order.
 * jacobian_add() adds tangent `which` to the panel and returns it, so that the caller can
 * set its first PHYS_PANEL_NUMBERS numbers. */
void jacobian_start_panel(const struct jacobian_work *work, int panel);
struct phys_frame_tangent *jacobian_add(const struct jacobian_work *work, int panel,
                                        int which);

/* Returns n tangents of a frame as struct tangents; `rotates` (n) is filled in. */
struct tangents jacobian_tangents(const struct phys_frame *frame, int n,
                                  const struct phys_frame_tangent *dot,
                                  unsigned char *rotates);

/* The Jacobian of a tile, or of a part of a tile. */
struct jacobian_tile {
    struct tile tile;
    const double *photons; /* photons of the tile's pixels */
    /* the tangents along which pixels of the panel change */
    const struct panel_tangents *of;
    /* derivative of pixel i along tangent k: change[k TILE_PIXELS + i] */
    const double *change;
    const struct columns *columns; /* derivatives by structure factors; NULL: not computed.
                                      `change` already contains the column of default_f */
};

/* Returns the index, among all tangents, of tangent k of a panel. */
static inline size_t jacobian_which(const struct panel_tangents *of, size_t k)
{
    return of->which ? (size_t)of->which[k] : k;
}

/* The receiver of the Jacobian. start() is called before the first tile of a chunk, and
 * again if the whole Jacobian is computed again. tile() is called for each tile, with the
 * job of its panel. */
struct jacobian_reader {
    int chunks; /* at most JACOBIAN_CHUNKS; 0: each tile is a chunk */
    void (*start)(const void *user, int chunk);
    void (*tile)(const void *user, int chunk, const struct job *job,
                 const struct adjoint_kernels *adjoint_kernels,
                 const struct jacobian_tile *jacobian);
    const void *user;
    /* Prefetches what tile() will read of a tile; NULL: nothing to prefetch. */
    void (*ahead)(const void *user, const struct job *image, const struct tile *tile);
};

enum { JACOBIAN_CHUNKS = 64 };

/* Computes the Jacobian of a job along the first n tangents, summed over the lattices of
 * the job, without writing its photons. Each lattice has its tangents in one element of the
 * list `work`, and its workspace in spots[lattice]. With a workspace, pairs of source and
 * orientation that do not reach a tile are skipped; if `spots` is NULL, every pair is
 * visited. Errors: NB_ERR_CANCELLED, and NB_ERR_MEMORY with spots. */
nb_status jacobian_run(struct progress *progress, const struct kernel_set *kernels,
                       const struct job *job, int n, const struct jacobian_work *work,
                       const struct jacobian_reader *reader, struct spots_work *spots);

#endif
