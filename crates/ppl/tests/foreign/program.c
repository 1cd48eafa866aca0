#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char buf[4096];
    mkdir("/tmp/out", 0755);
    int fd = open("/tmp/out/log", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
        perror("open");
        return 1;
    }
    for (int i = 0; i < 8; i++)
        pwrite(fd, buf, 4096, i * 4096);
    fsync(fd);
    lseek(fd, 0, SEEK_SET);
    read(fd, buf, sizeof(buf));
    close(fd);
    unlink("/tmp/out/log");
    return 0;
}
