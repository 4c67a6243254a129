/*
 * cuda_memory.c - memory of a CUDA device, and copies. Copies that run beside kernels need
 * pinned memory and a stream of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/cuda_device.h"

/* ---- memory ---- */

nb_status cuda_allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out)
{
    struct device *d = device;
    cuda_pointer address = 0;
    cuda_result result;

    *out = 0;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.memory_allocate(&address, bytes);
    if (result == 0) *out = address;
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "allocating %zu bytes", bytes));
}

void cuda_release(void *device, gpu_address address)
{
    struct device *d = device;

    if (address == 0 || cuda_enter(d) != 0) return;
    (void)d->library.memory_release(address);
    (void)cuda_pop(d, NB_OK);
}

static int attribute_of(const struct device *d, unsigned which, gpu_address address,
                        unsigned *out)
{
    *out = 0;
    return d->library.pointer_attribute(out, which, address) == 0;
}

/* Returns 1 if an address may be memory of the device. Addresses that the driver does not
 * know are ordinary memory of the host. Managed memory counts as the device's wherever it
 * lies now. */
int cuda_owns(void *device, gpu_address address)
{
    struct device *d = device;
    unsigned type, managed, ordinal;
    int ours;

    /* the next call reports this failure */
    if (cuda_enter(d) != 0) return 1;
    ours = attribute_of(d, CUDA_MEMORY_TYPE, address, &type);
    if (ours && !(attribute_of(d, CUDA_IS_MANAGED, address, &managed) && managed))
        ours = type == CUDA_DEVICE_MEMORY
               && (!attribute_of(d, CUDA_DEVICE_ORDINAL, address, &ordinal)
                   || (int)ordinal == d->ordinal);
    (void)cuda_pop(d, NB_OK);
    return ours;
}

/* Waits for the copy, because CUDA does not promise that an asynchronous copy has read the
 * host's memory on return: ordinary memory may be staged by a thread of the driver, or read
 * by a device that shares the host's page tables. */
nb_status cuda_upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                      size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.upload(to, from, bytes, d->stream);
    if (result == 0) result = d->library.stream_wait(d->stream);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "copying %zu bytes to the device", bytes));
}

nb_status cuda_download(nb_context *ctx, void *device, void *to, gpu_address from,
                        size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.download(to, from, bytes, d->stream);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "copying %zu bytes from the device", bytes));
}

nb_status cuda_zero(nb_context *ctx, void *device, gpu_address to, size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.zero(to, 0, bytes, d->stream);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "setting %zu bytes to 0", bytes));
}

/* ---- pinned memory, and copies beside kernels ---- */

nb_status cuda_pin(nb_context *ctx, void *device, size_t bytes, void **out)
{
    struct device *d = device;
    cuda_result result;

    *out = NULL;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.pinned_allocate(out, bytes, 0);
    if (result != 0) *out = NULL;
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "pinning %zu bytes of the host", bytes));
}

void cuda_unpin(void *device, void *memory)
{
    struct device *d = device;

    if (!memory || cuda_enter(d) != 0) return;
    (void)d->library.pinned_release(memory);
    (void)cuda_pop(d, NB_OK);
}

nb_status cuda_send(nb_context *ctx, void *device, gpu_address to, const void *from,
                    size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(cuda_push(ctx, d));
    result = d->library.upload(to, from, bytes, d->stream);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "sending %zu bytes to the device", bytes));
}

static cuda_result make_event(struct device *d, cuda_event *event)
{
    const cuda_result result = d->library.event_create(event, CUDA_EVENT_WITHOUT_TIME);

    if (result != 0) *event = NULL;
    return result;
}

static cuda_result make_copies(struct device *d)
{
    cuda_result result = 0;

    if (!d->copies) result = d->library.stream_create(&d->copies, CUDA_STREAM_NON_BLOCKING);
    if (result != 0) d->copies = NULL;
    if (result == 0 && !d->computed) result = make_event(d, &d->computed);
    for (int i = 0; i < GPU_FETCHES && result == 0; i++)
        if (!d->fetched[i]) result = make_event(d, &d->fetched[i]);
    return result;
}

/* The copy waits for all work requested before it. No work waits for the copy. */
nb_status cuda_fetch(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                     size_t bytes)
{
    struct device *d = device;
    const struct cuda_library *cuda = &d->library;
    cuda_result result;

    NB_TRY(cuda_push(ctx, d));
    result = make_copies(d);
    if (result == 0) result = cuda->event_record(d->computed, d->stream);
    if (result == 0) result = cuda->stream_wait_event(d->copies, d->computed, 0);
    if (result == 0 && bytes > 0) result = cuda->download(to, from, bytes, d->copies);
    d->fetching = 1;
    if (result == 0) result = cuda->event_record(d->fetched[slot], d->copies);
    return cuda_pop(d, cuda_check(ctx, cuda, NB_ERR_DEVICE, result,
                                  "fetching %zu bytes from the device", bytes));
}

nb_status cuda_fetched(nb_context *ctx, void *device, int slot)
{
    struct device *d = device;
    cuda_result result;

    NB_TRY(cuda_push(ctx, d));
    result = d->library.event_wait(d->fetched[slot]);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "fetching"));
}

void cuda_close_copies(struct device *d)
{
    if (d->copies) {
        (void)d->library.stream_wait(d->copies);
        (void)d->library.stream_destroy(d->copies);
    }
    if (d->computed) (void)d->library.event_destroy(d->computed);
    for (int i = 0; i < GPU_FETCHES; i++)
        if (d->fetched[i]) (void)d->library.event_destroy(d->fetched[i]);
}
