int fd = open("data.bin", O_RDWR | O_CREAT, 0644);
pwrite(fd, buf, 1024 * 1024, 0);
pread(fd, buf, sizeof(buf), 0);
close(fd);
