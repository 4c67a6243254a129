/*
 * crystal_system.c - sets the crystal system, which ties numbers of the cell to each other,
 * by -crystal_system or by the space group of -pdb, -mtz or -expt.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/command.h"

void crystal_system_set(struct command *command)
{
    static const char *const names[] =
        {"",           "triclinic", "monoclinic",   "orthorhombic",
         "tetragonal", "hexagonal", "rhombohedral", "cubic"};
    struct settings *const s = command->s;
    const char *const group = inputs_space_group(&command->inputs);
    if (s->crystal_system) {
        s->scene.crystal.system = s->crystal_system;
        return;
    }
    if (!command->scene_only && !fit_asked(s)) return;
    const int system = nb_crystal_system(group, s->scene.crystal.cell);
    if (system <= NB_SYSTEM_TRICLINIC) return;
    s->scene.crystal.system = system;
    message_note(command->messages,
                 "the fit keeps the unit cell %s, as the space group %s asks; "
                 "-crystal_system triclinic frees all six numbers",
                 names[system], group);
}
