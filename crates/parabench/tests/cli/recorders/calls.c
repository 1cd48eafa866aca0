#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#define FOLDER "d\xc3\xbc >x"
static char block[8192];
static void say(long done) { if (done == -12345) abort(); }
/* Both have a file open before one is closed: in logs apart nothing says whether a number was free already. */
static pthread_barrier_t both;
static void *thread(void *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 3; i++) say(write(fd, "ten bytes.", 10));
    pthread_barrier_wait(&both);
    close(fd);
    return NULL;
}
/* Shares descriptors and the directory with its parent. */
static int sharing(void *fd) {
    close(*(int *)fd);
    say(chdir(FOLDER));
    *(int *)fd = open("shared", O_WRONLY | O_CREAT, 0600);
    _exit(*(int *)fd);
}
static void *executing(void *open) {
    execl("/proc/self/exe", "calls", "leave", open, NULL);
    return NULL;
}
static void alone(void) {
    say((long)getcwd(block, sizeof block));
    mkdir(FOLDER, 0755);
    int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0600);
    say(write(fd, "hello world", 11));
    lseek(fd, 3, SEEK_SET); lseek(fd, -1, SEEK_CUR); lseek(fd, 0, SEEK_END); lseek(fd, 2, SEEK_SET);
    say(read(fd, block, 4)); say(pread(fd, block, 4, 1)); say(pwrite(fd, "x", 1, 20));
    struct iovec two[2] = {{block, 5}, {block + 5, 3}};
    say(writev(fd, two, 2)); say(preadv(fd, two, 2, 1)); say(pwritev2(fd, two, 2, 30, 0)); say(preadv2(fd, two, 2, -1, 0));
    int second = dup(fd);
    close(fd);
    say(write(second, "y", 1));
    int third = fcntl(second, F_DUPFD_CLOEXEC, 10);
    dup3(second, 20, O_CLOEXEC);
    int folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int in = openat(folder, "in", O_CREAT | O_WRONLY | O_APPEND, 0600);
    struct stat facts;
    say(write(in, "abc", 3)); fstat(in, &facts); say(write(in, "d", 1)); ftruncate(in, 2); fsync(in); fdatasync(in);
    renameat(folder, "in", folder, "on"); unlinkat(folder, "on", 0);
    say(write(in, "e", 1)); close(in);
    fchdir(folder); stat("../f", &facts); chdir(".."); access("none", R_OK);
    symlink("f", "soft"); say(readlink("soft", block, 100)); link("f", "f2"); truncate("f2", 50); rename("f2", "f3");
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
    say(write(nameless, "12345", 5));
    off64_t from = 0, to = 7;
    say(copy_file_range(second, &from, nameless, NULL, 5, 0)); say(copy_file_range(second, NULL, nameless, &to, 5, 0));
    off_t at = 1;
    say(sendfile(nameless, second, &at, 4));
    int pair[2];
    say(pipe2(pair, O_CLOEXEC));
    at = 0;
    say(splice(second, &at, pair[1], NULL, 4, 0)); say(splice(pair[0], NULL, nameless, NULL, 4, 0));
    void *map = mmap(NULL, 50, PROT_READ | PROT_WRITE, MAP_SHARED, second, 0);
    memset(map, 'm', 10); msync(map, 50, MS_SYNC); munmap(map, 50);
    struct flock lock = {.l_type = F_WRLCK};
    fcntl(second, F_SETLK, &lock); flock(second, LOCK_EX | LOCK_NB);
    posix_fadvise(second, 0, 0, POSIX_FADV_SEQUENTIAL); posix_fallocate(second, 0, 100); sync_file_range(second, 0, 10, 0);
    fallocate(second, FALLOC_FL_KEEP_SIZE, 0, 200);
    fchmod(second, 0644); chmod("f", 0600); futimens(second, NULL); utimensat(AT_FDCWD, "f", NULL, 0);
    dup2(nameless, third);
    close_range(third, third, 0); close(nameless); close_range(20, 20, 0); close(second); close(folder);
    rmdir("none");
    struct statfs room;
    struct statvfs same_room;
    int asked = open("asked", O_RDWR | O_CREAT, 0600);
    statfs("asked", &room); fstatfs(asked, &room); statvfs("asked", &same_room); fstatvfs(asked, &same_room);
    statvfs("none", &same_room); close(asked);
    /* There is no such ring: what matters is that the call is seen. */
    syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
    FILE *stream = fopen("stream", "w+");
    fputs("text", stream); rewind(stream); say(fread(block, 1, 4, stream)); fclose(stream);
}
static void others(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, thread, "thread-0");
    pthread_create(&threads[1], NULL, thread, "thread-1");
    pthread_join(threads[0], NULL); pthread_join(threads[1], NULL);
    int common = open("common", O_RDWR | O_CREAT, 0600), closed = open("closed", O_RDWR | O_CREAT | O_CLOEXEC, 0600), status;
    if (fork() == 0) { say(write(common, "child", 5)); _exit(0); }
    wait(NULL);
    say(write(common, "parent", 6));
    static char stack[65536];
    static int shared;
    shared = open("given", O_RDWR | O_CREAT, 0600);
    clone(sharing, stack + sizeof stack, CLONE_FILES | CLONE_FS | SIGCHLD, &shared);
    wait(&status);
    say(write(WEXITSTATUS(status), "of both", 7));
    close(open("beside", O_WRONLY | O_CREAT, 0600));
    pthread_t last;
    static char open_ones[] = {0, 0, 0, 0};
    open_ones[0] = common; open_ones[1] = closed; open_ones[2] = WEXITSTATUS(status);
    pthread_create(&last, NULL, executing, open_ones);
    pthread_join(last, NULL);
}
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "leave")) {
        /* "common" came along, "closed" did not; others may have come from who started the test. */
        for (char *fd = argv[2]; *fd; fd++) if (write(*fd, "z", 1) == 1) close(*fd);
        return 0;
    }
    alone();
    if (argc > 1) others();
    return 0;
}
