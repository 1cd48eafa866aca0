import os

fd = os.open("data", os.O_RDWR | os.O_CREAT)
for i in range(10):
    os.write(fd, b"x" * 4096)
os.read(fd, 512)
os.close(fd)
