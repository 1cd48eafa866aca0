import os
fd = os.open("/data/in.bin", os.O_RDONLY)
for i in range(4):
    os.pread(fd, 65536, i * 65536)
os.close(fd)
print(os.stat("/data/in.bin").st_size)
