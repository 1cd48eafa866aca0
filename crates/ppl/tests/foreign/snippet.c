int fd = open("data.bin", O_WRONLY | O_CREAT, 0644);
ssize_t n = write(fd, buf, 65536);
close(fd);
