/* plate.c - see plate.h. SPDX-License-Identifier: MIT */
#include "io/plate.h"

nb_scene plate(int nfast, int nslow)
{
    nb_scene s = {0};

    s.crystal.cell[0] = 40;
    s.crystal.default_f = 1;
    s.detector.nfast = nfast;
    s.detector.nslow = nslow;
    s.detector.pixel = 0.172;
    s.detector.distance = 70;
    s.scan.phi0 = 12.25;
    s.scan.osc = 0.5;
    s.scan.nphi = 1;
    s.beam.wavelength = 0.9791;
    s.oversample = 1;
    return s;
}
