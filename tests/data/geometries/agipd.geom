; AGIPD-like: four modules of two chips of 64 x 32 pixels, a module for each index of dim1

adu_per_eV = 0.0001
clen = 0.1193 ; metres
photon_energy = 9.3 keV
res = 5000 ; 200 um

dim0 = %
dim2 = ss
dim3 = fs
data = /entry_1/data_1/data
max_adu = 40000
min_fs = 0
max_fs = 31

p0a0/dim1 = 0
p0a0/min_ss = 0
p0a0/max_ss = 63
p0a0/fs = -0.0052x +1.0000y
p0a0/ss = -1.0000x -0.0052y
p0a0/corner_x = -6.500
p0a0/corner_y = -40.000
p0a0/coffset = 0

p0a1/dim1 = 0
p0a1/min_ss = 64
p0a1/max_ss = 127
p0a1/fs = -0.0052x +1.0000y
p0a1/ss = -1.0000x -0.0052y
p0a1/corner_x = -72.499
p0a1/corner_y = -40.346
p0a1/coffset = 0

p1a0/dim1 = 1
p1a0/min_ss = 0
p1a0/max_ss = 63
p1a0/fs = +0.0035x +1.0000y
p1a0/ss = -1.0000x +0.0035y
p1a0/corner_x = -6.500
p1a0/corner_y = -4.000
p1a0/coffset = 0

p1a1/dim1 = 1
p1a1/min_ss = 64
p1a1/max_ss = 127
p1a1/fs = +0.0035x +1.0000y
p1a1/ss = -1.0000x +0.0035y
p1a1/corner_x = -72.500
p1a1/corner_y = -3.770
p1a1/coffset = 0

p2a0/dim1 = 2
p2a0/min_ss = 0
p2a0/max_ss = 63
p2a0/fs = +0.0017x -1.0000y
p2a0/ss = +1.0000x +0.0017y
p2a0/corner_x = 7.250
p2a0/corner_y = 41.500
p2a0/coffset = 0.001

p2a1/dim1 = 2
p2a1/min_ss = 64
p2a1/max_ss = 127
p2a1/fs = +0.0017x -1.0000y
p2a1/ss = +1.0000x +0.0017y
p2a1/corner_x = 73.250
p2a1/corner_y = 41.615
p2a1/coffset = 0.001
p2a1/no_index = 1

p3a0/dim1 = 3
p3a0/min_ss = 0
p3a0/max_ss = 63
p3a0/fs = +0.0070x -1.0000y
p3a0/ss = +1.0000x +0.0070y
p3a0/corner_x = 7.250
p3a0/corner_y = 5.500
p3a0/coffset = 0.001

p3a1/dim1 = 3
p3a1/min_ss = 64
p3a1/max_ss = 127
p3a1/fs = +0.0070x -1.0000y
p3a1/ss = +1.0000x +0.0070y
p3a1/corner_x = 73.248
p3a1/corner_y = 5.961
p3a1/coffset = 0.001

badrow/panel = p1a1
badrow/min_fs = 0
badrow/max_fs = 31
badrow/min_ss = 127
badrow/max_ss = 127

group_m0 = p0a0,p0a1
group_m1 = p1a0,p1a1
group_m2 = p2a0,p2a1
group_m3 = p3a0,p3a1
group_q0 = m0,m1
group_q1 = m2,m3
group_all = q0,q1
