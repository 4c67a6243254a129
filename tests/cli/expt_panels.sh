#!/bin/sh
# expt_panels.sh PROGRAM DATA - what the panels of an .expt state of the counts of its images
# (gain, pedestal and trusted_range), and their order. SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
if ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no cJSON"
    exit 77
fi

# values FILE: the lines of the report with fitted values, and its loss
values()
{
    grep -E '^  [a-z].* from [0-9.-]+ *$|, loss ' "$1" | sed 's/ *[0-9.]* s$//'
}

# ---- an image of two panels, whose photons are known ----
crystal="-default_F 100 -N 6 -gauss_xtal -mosaic 0.5 -oversample 1 -fluence 1e28 -water 0.05"
run -cell 53.91 23.10 23.10 90 110.4 90 $crystal -lambda 1.2 -distance 120 \
    -detpixels 64 -pixel 1.6 -misset 10 20 30 -seed 1 -noisefile one_001.img -truth one.expt
is "an image is made" test "$code" -eq 0
mv work/one_001.img work/one.expt .
python3 - << 'PY'
import array, copy, json

header = open("one_001.img", "rb").read(512)
pixels = array.array("H", open("one_001.img", "rb").read()[512:])
photons = [p - 40 for p in pixels]
gains, pedestals, limits = (2, 5), (10, 300), ((420, 40000), (290, 50000))
half = len(pixels) // 2
counts = [p * gains[i >= half] + pedestals[i >= half] for i, p in enumerate(photons)]
low = {i for i, c in enumerate(counts) if c < limits[i >= half][0]}
for i, c in ((70, 40001), (half + 70, 50001), (half + 71, 65535)):
    counts[i] = c
    low.add(i)
counts[half + 99] = 290 # negative photons, but at the limit
array.array("H", counts).tofile(open("body", "wb"))
open("two_001.img", "wb").write(header + open("body", "rb").read())
mask = array.array("f", [i not in low and counts[i] != 290 for i in range(len(counts))])
mask.tofile(open("mask.bin", "wb"))
array.array("f", photons).tofile(open("photons.bin", "wb"))
open("pixels", "w").write(str(len(low)))

e = json.load(open("one.expt"))
first = e["detector"][0]["panels"][0]
first["image_size"][1] //= 2
second = copy.deepcopy(first)
second["origin"] = [o + 32 * 1.6 * s for o, s in zip(first["origin"], first["slow_axis"])]
second["raw_image_offset"] = [0, 32]
e["detector"][0]["panels"] = panels = [first, second]
e["imageset"][0]["images"] = ["two_001.img"]
for i, panel in enumerate(panels):
    panel.update(name="m%d" % (9 - i), gain=1, pedestal=0, trusted_range=[0, 0])
json.dump(e, open("plain.expt", "w"))
for i, panel in enumerate(panels):
    panel.update(gain=gains[i], pedestal=pedestals[i])
json.dump(e, open("gains.expt", "w"))
for i, panel in enumerate(panels):
    panel["trusted_range"] = limits[i]
json.dump(e, open("two.expt", "w"))
def section(number, values):
    body = array.array("i", values).tobytes()
    head = ("--CIF-BINARY-FORMAT-SECTION--\r\nContent-Type: application/octet-stream\r\n"
            "Content-Transfer-Encoding: BINARY\r\nX-Binary-Size: %d\r\nX-Binary-ID: %d\r\n"
            "X-Binary-Element-Type: \"signed 32-bit integer\"\r\n"
            "X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\nX-Binary-Number-of-Elements: %d\r\n"
            "X-Binary-Size-Fastest-Dimension: 64\r\nX-Binary-Size-Second-Dimension: 32\r\n\r\n"
            % (len(body), number, len(body) // 4)).encode()
    return (b";\r\n" + head + b"\x0c\x1a\x04\xd5" + body
            + b"\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n")

# sections in the order of the panels, whose identifiers and names run backwards
open("two.cbf", "wb").write(b"###CBF: VERSION 1.5\r\ndata_two\r\n_array_data.data\r\n"
                            + section(2, counts[:half]) + section(1, counts[half:]))
e["imageset"][0]["images"] = ["two.cbf"]
for panel in panels:
    panel["raw_image_offset"] = [0, 0]
json.dump(e, open("cbf.expt", "w"))
panels[0]["gain"] = "two"
json.dump(e, open("bad.expt", "w"))
PY
inputs="cbf.expt two.cbf two.expt plain.expt gains.expt bad.expt one_001.img two_001.img photons.bin mask.bin"
start="$crystal -misset 0.05 0.05 0.05 -fit scale,misset"
run -expt plain.expt $start -data photons.bin -data_mask mask.bin
values out > by_photons
is "a fit to photons" test "$(wc -l < by_photons)" -eq 5
run -expt two.expt $start
values out > by_counts
is "counts become photons by gain and pedestal of each panel" cmp -s by_photons by_counts
run -expt cbf.expt $start
values out > by_sections
is "sections of a CBF are the panels in the order of the .expt" cmp -s by_photons by_sections
run -expt two.expt $start
is "which is said once" test "$(grep -c 'gain 2 to 5 counts/photon, pedestal 10 to 300' err)" -eq 1
is "pixels outside trusted_range are left out" \
    grep -q "left out: $(cat pixels) pixels of 1 image outside the trusted_range of two.expt" err
is "counts at the limit are not" grep -q 'left out: 1 pixel of 1 image with fewer photons' err
run -expt plain.expt $start -data photons.bin
values out > by_photons
run -expt gains.expt $start -data one_001.img -gain 1 -pedestal 40
values out > by_options
is "options count more than the panels" cmp -s by_photons by_options
run -expt two.expt $start -saturation 65535
is "-saturation is the upper limit, and panels of several gains leave out full pixels" \
    grep -q "left out: $(($(cat pixels) - 2)) pixels of 1 image outside" err
run -expt plain.expt $start -data one_001.img
values out > by_header
is "panels that state nothing leave it to the header" cmp -s by_photons by_header
refuses 2 "bad.expt.*gain" -expt bad.expt $start
finish
