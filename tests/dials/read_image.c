/*
 * read_image.c - reads a frame of an image for images.py:  read_image PATH FRAME OUT
 * Prints the numbers of the header; OUT gets the pixels, then a byte of mask for each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include <nanobrag/context.h>
#include <nanobrag/io.h>

/* Writes pixels and mask. Returns 0 if that fails. */
static int write_image(const nb_measured *image, const char *path)
{
    const size_t n = (size_t)image->nfast * (size_t)image->nslow;
    FILE *const file = fopen(path, "wb");
    int good = file && fwrite(image->pixels, sizeof *image->pixels, n, file) == n;

    for (size_t i = 0; good && i < n; i++)
        good = fputc(image->mask ? image->mask[i] : 1, file) != EOF;
    return file && fclose(file) == 0 && good;
}

int main(int argc, char **argv)
{
    nb_context *ctx = NULL;
    nb_measured *image = NULL;
    int good;

    if (argc != 4 || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 2;
    good = nb_image_read(ctx, argv[1], atoll(argv[2]), &image) == NB_OK;
    if (!good) (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    if (good) {
        printf("{\"nfast\": %d, \"nslow\": %d, \"npanel\": %d, \"frames\": %lld, ",
               image->nfast, image->nslow, image->npanel, (long long)image->frames);
        printf("\"wavelength\": \"%.17g\", \"distance\": \"%.17g\", \"pixel\": \"%.17g\", ",
               image->wavelength, image->distance, image->pixel_fast);
        printf("\"osc_start\": \"%.17g\", \"osc_range\": \"%.17g\", \"exposure\": "
               "\"%.17g\", ",
               image->osc_start, image->osc_range, image->exposure);
        printf("\"overload\": \"%.17g\", \"pedestal\": \"%.17g\", \"gain\": \"%.17g\"}\n",
               image->overload, image->pedestal, image->gain);
        good = write_image(image, argv[3]);
    }
    nb_measured_free(image);
    nb_context_free(ctx);
    return !good;
}
