/*
 * emulated_queue.h - what was requested of the emulated device and is not done. It is done
 * when it is waited for, and a copy beside kernels after all that was requested meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_EMULATED_QUEUE_H
#define NB_TESTS_EMULATED_QUEUE_H

#include "gpu/driver/driver.h"

enum queue_kind { QUEUE_COPY, QUEUE_BACK, QUEUE_ZEROS, QUEUE_LAUNCH };

typedef void queue_run_launch(const struct gpu_launch *launch, gpu_address parameters);

/* Append a request. What queue_upload() sends is read at once, what queue_copy() sends only
 * when it is done. QUEUE_BACK is a copy to the host. */
void queue_upload(void *to, const void *from, size_t bytes);
void queue_copy(enum queue_kind kind, void *to, const void *from, size_t bytes);
void queue_launch(queue_run_launch *run, const struct gpu_launch *launch,
                  gpu_address parameters);

/* Do all requests; with `back` 0 nothing is copied to the host. */
void queue_run(int back);
int queue_is_busy(void); /* 1: there are requests */

/* Request a copy beside what follows, and do it. Returns 0 for a slot that is in use. */
int queue_fetch(int slot, void *to, const void *from, size_t bytes);
void queue_finish(int slot);

#endif
