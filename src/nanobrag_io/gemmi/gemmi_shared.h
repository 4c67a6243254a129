/*
 * gemmi_shared.h - functions that the .cpp files share: they turn exceptions into a status
 * and a message, and check and copy a cell with its space group.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEMMI_GEMMI_SHARED_H
#define NB_IO_GEMMI_GEMMI_SHARED_H

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <gemmi/symmetry.hpp>
#include <gemmi/unitcell.hpp>
#include <gemmi/util.hpp>
#include <locale>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "nanobrag_io/gemmi/gemmi.h"

namespace nanobrag {

/* The exception that refuse() throws; its text becomes the message. */
struct Refusal : std::runtime_error {
    nb_status status;
    Refusal(nb_status status_, const std::string &text)
        : std::runtime_error(text), status(status_)
    {
    }
};

[[noreturn]] inline void refuse(const std::string &text)
{
    throw Refusal(NB_ERR_FORMAT, text);
}

/* Returns a number as text with `digits` significant digits, in any locale. */
inline std::string text_of(double value, int digits)
{
    std::ostringstream stream;

    stream.imbue(std::locale::classic());
    stream.precision(digits);
    stream << value;
    return stream.str();
}

/* Copies a text with blanks for control characters, cut to size - 1 bytes. */
inline void copy_line(const std::string &text, char *to, size_t size)
{
    size_t n = 0;

    for (char c : text) {
        if (n + 1 == size) break;
        to[n++] = static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
    }
    while (n > 0 && to[n - 1] == ' ') n--;
    to[n] = '\0';
}

/* Runs a function. If it throws, returns the exception's status and writes its message to
 * `why`. */
template <typename Function>
nb_status guarded(char why[GEMMI_WHY], Function function) noexcept
{
    why[0] = '\0';
    try {
        function();
        return NB_OK;
    } catch (const Refusal &refusal) {
        copy_line(refusal.what(), why, GEMMI_WHY);
        return refusal.status;
    } catch (const std::bad_alloc &) {
        copy_line("out of memory", why, GEMMI_WHY);
        return NB_ERR_MEMORY;
    } catch (const std::length_error &) {
        copy_line("a size in the file is impossible; the file is damaged", why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    } catch (const std::exception &error) {
        copy_line(error.what(), why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    } catch (...) {
        copy_line("gemmi failed", why, GEMMI_WHY);
        return NB_ERR_FORMAT;
    }
}

template <typename T> T *allocate(size_t n)
{
    T *memory = static_cast<T *>(std::calloc(n + 1, sizeof(T)));

    if (!memory) throw std::bad_alloc();
    return memory;
}

/* ---- cells and space groups ---- */

inline void check_cell(const gemmi::UnitCell &cell)
{
    const double edges[3] = {cell.a, cell.b, cell.c};
    const double angles[3] = {cell.alpha, cell.beta, cell.gamma};
    bool good = std::isfinite(cell.volume) && cell.volume > 1e-3 * cell.a * cell.b * cell.c;

    for (int i = 0; i < 3; i++)
        good = good && edges[i] > 1.5 && edges[i] < 1e5 && angles[i] > 1 && angles[i] < 179;
    if (!good)
        refuse("the file has no unit cell of a crystal (1 1 1 and flat cells do not "
               "count); add CRYST1, _cell or CELL");
}

/* Refuses a cell that an operator of its space group changes. Elements of the metric tensor
 * may differ by 1 % of the longest edge squared. */
inline void check_group(const gemmi::UnitCell &cell, const gemmi::GroupOps &ops,
                        const std::string &name)
{
    const auto metric = cell.metric_tensor().elements_voigt();
    const double edge2 = std::max(metric[0], std::max(metric[1], metric[2]));

    for (const gemmi::Op &op : ops.sym_ops) {
        const gemmi::Mat33 m = cell.orth.mat.multiply(gemmi::rot_as_mat33(op));
        const double image[6] = {m.column_dot(0, 0), m.column_dot(1, 1),
                                 m.column_dot(2, 2), m.column_dot(1, 2),
                                 m.column_dot(0, 2), m.column_dot(0, 1)};

        for (int i = 0; i < 6; i++)
            if (!(std::fabs(metric[i] - image[i]) < 0.01 * edge2))
                refuse("the unit cell does not have the symmetry of space group " + name
                       + "; correct one of them");
    }
}

inline void set_operators(const gemmi::GroupOps &ops, gemmi_crystal *out)
{
    int n = 0;

    for (gemmi::Op op : ops) {
        if (n == GEMMI_OPERATORS) refuse("the space group has too many operators");
        gemmi_operator &to = out->operator_of[n++];

        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                if (op.rot[i][k] % gemmi::Op::DEN != 0)
                    refuse("a symmetry operator is no rotation of the cell");
                to.rotation[i][k] = op.rot[i][k] / gemmi::Op::DEN;
            }
            to.shift[i] = ((op.tran[i] % gemmi::Op::DEN) + gemmi::Op::DEN) % gemmi::Op::DEN;
        }
    }
    out->noperator = n;
}

static_assert(gemmi::Op::DEN == GEMMI_SHIFT, "the unit of shifts");

inline void set_crystal(const gemmi::UnitCell &cell, const gemmi::SpaceGroup *group,
                        const std::string &name, gemmi_crystal *out)
{
    const double numbers[6] = {cell.a, cell.b, cell.c, cell.alpha, cell.beta, cell.gamma};

    check_cell(cell);
    if (name.empty() && !group)
        refuse("the file has no space group of a crystal; add CRYST1, _symmetry or SYMINF");
    if (!group) refuse("the space group '" + name.substr(0, 24) + "' is unknown");
    std::memcpy(out->cell, numbers, sizeof numbers);
    copy_line(group->xhm(), out->space_group, sizeof out->space_group);
    check_group(cell, group->operations(), group->xhm());
    set_operators(group->operations(), out);
}

/* Skips the byte order mark of UTF-8, which some editors put in front of a text. */
inline void skip_mark(const char **bytes, size_t *n)
{
    if (*n < 3 || std::memcmp(*bytes, "\xEF\xBB\xBF", 3) != 0) return;
    *bytes += 3;
    *n -= 3;
}

/* Refuses a CIF with too many words. gemmi makes a string of each word, which would take
 * more than about 3 GB. */
inline void check_words(const char *bytes, size_t n)
{
    const size_t most = size_t(1) << 26;
    size_t words = 0;
    bool blank = true;

    for (size_t i = 0; i < n; i++) {
        const bool before = blank;

        blank = bytes[i] == ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r');
        words += before && !blank;
    }
    if (words > most)
        refuse("an mmCIF of " + std::to_string(words) + " words; expected at most "
               + std::to_string(most));
}

inline bool is_cif(const char *at, const char *end)
{
    while (at < end && (std::isspace(static_cast<unsigned char>(*at)) || *at == '#')) {
        if (*at == '#')
            while (at < end && *at != '\n') at++;
        else
            at++;
    }
    return end - at > 5 && gemmi::ialpha4_id(at) == gemmi::ialpha4_id("data")
           && at[4] == '_';
}

} // namespace nanobrag

#endif
