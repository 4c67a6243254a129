/* status.c - texts of the status codes. SPDX-License-Identifier: MIT */
#include <nanobrag/status.h>

const char *nb_status_text(nb_status status)
{
    static const char *const text[] = {
#define STATUS_TEXT(name, sentence) sentence,
        NB_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    };

    if ((int)status < 0 || status >= NB_STATUS_COUNT) return "unknown status";
    return text[status];
}
