; JUNGFRAU 4M: eight modules of 512 x 1024 pixels in two halves, in one array of data

photon_energy = 12000 eV
adu_per_photon = 1
clen = 150 mm
res = 13333.3 ; 75 um

data = /entry/data/data
dim0 = %
dim1 = ss
dim2 = fs
mask0_data = /entry/instrument/detector/pixel_mask
mask0_goodbits = 0x00
mask0_badbits = 0xff
rail_direction = z
mask_edge_pixels = 1

rigid_group_left = m0,m1,m2,m3
rigid_group_right = m4,m5,m6,m7
rigid_group_m0 = m0
rigid_group_m1 = m1
rigid_group_m2 = m2
rigid_group_m3 = m3
rigid_group_m4 = m4
rigid_group_m5 = m5
rigid_group_m6 = m6
rigid_group_m7 = m7
rigid_group_collection_halves = left,right
rigid_group_collection_modules = m0,m1,m2,m3,m4,m5,m6,m7

badbeamstop/min_x = -30.0
badbeamstop/max_x = +30.0
badbeamstop/min_y = -1200
badbeamstop/max_y = +20

baddead/panel = m3
baddead/min_fs = 512
baddead/max_fs = 519
baddead/min_ss = 1536
baddead/max_ss = 1600

m0/fs = +1.000000x +0.000524y
m0/ss = -0.000524x +1.000000y
m0/corner_x = -1040
m0/corner_y = -1087
m0/coffset = 0
m0/min_fs = 0
m0/max_fs = 1023
m0/min_ss = 0
m0/max_ss = 511

m1/fs = +1.000000x -0.000873y
m1/ss = +0.000873x +1.000000y
m1/corner_x = -1041.75
m1/corner_y = -539
m1/coffset = 0.0001
m1/min_fs = 0
m1/max_fs = 1023
m1/min_ss = 512
m1/max_ss = 1023

m2/fs = +1.000000x +0.000349y
m2/ss = -0.000349x +1.000000y
m2/corner_x = -1039.75
m2/corner_y = 8
m2/coffset = 0
m2/min_fs = 0
m2/max_fs = 1023
m2/min_ss = 1024
m2/max_ss = 1535

m3/fs = +0.999998x +0.001745y +0.000500z
m3/ss = -0.001745x +0.999998y
m3/corner_x = -1038.5
m3/corner_y = 560.5
m3/coffset = -0.0002
m3/min_fs = 0
m3/max_fs = 1023
m3/min_ss = 1536
m3/max_ss = 2047

m4/fs = -0.999999x +0.001396y
m4/ss = -0.001396x -0.999999y
m4/corner_x = 1045.75
m4/corner_y = 1100
m4/coffset = 0.0003
m4/min_fs = 0
m4/max_fs = 1023
m4/min_ss = 2048
m4/max_ss = 2559

m5/fs = -1.000000x -0.000698y -0.000200z
m5/ss = +0.000698x -1.000000y
m5/corner_x = 1047.25
m5/corner_y = 547
m5/coffset = 0
m5/min_fs = 0
m5/max_fs = 1023
m5/min_ss = 2560
m5/max_ss = 3071

m6/fs = -1.000000x -0.000000y
m6/ss = +0.000000x -1.000000y
m6/corner_x = 1046.25
m6/corner_y = -1.75
m6/coffset = 0
m6/min_fs = 0
m6/max_fs = 1023
m6/min_ss = 3072
m6/max_ss = 3583

m7/fs = -0.999999x -0.001047y
m7/ss = +0.001047x -0.999999y
m7/corner_x = 1046.5
m7/corner_y = -548
m7/coffset = 0.0001
m7/min_fs = 0
m7/max_fs = 1023
m7/min_ss = 3584
m7/max_ss = 4095
