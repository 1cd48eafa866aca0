/* Reads 1000 times from w/file where a recorder may no longer reach its log.
 *
 *   lost HOW WHAT VALUE [PROGRAM]    after WHAT: read here, in a thread, in a child; or execute PROGRAM
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int file;

static void *read_all(void *nothing) {
    char byte;
    for (int i = 0; i < 1000; i++)
        if (pread(file, &byte, 1, 0) != 1) abort();
    return nothing;
}

static void limit(int resource, const char *value) {
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = (rlim_t)atoll(value);
    if (setrlimit(resource, &limit)) abort();
}

static void act(const char *what, const char *value) {
    if (!strcmp(what, "setuid") && setuid(65534)) abort();
    if (!strcmp(what, "setgid") && setgid(65534)) abort();
    if (!strcmp(what, "chroot") && chroot("empty")) abort();
    if (!strcmp(what, "fsize")) limit(RLIMIT_FSIZE, value);
    if (!strcmp(what, "nofile")) limit(RLIMIT_NOFILE, value);
}

/* A descriptor of the program, for those ways that need one. */
static int opened(const char *how, const char *program) {
    if (strcmp(how, "fexecve") && strncmp(how, "execveat", 8)) return -1;
    return open(program, O_CLOEXEC | (strcmp(how, "execveat-path") ? O_RDONLY : O_PATH));
}

static int execute(const char *how, char *program, int fd) {
    char *words[] = {program, "read", NULL};
    int status = 0;
    if (!strcmp(how, "execv")) execv(program, words);
    if (!strcmp(how, "execvp")) execvp(program, words);
    if (!strcmp(how, "execve")) execve(program, words, (char *[]){NULL});
    if (!strcmp(how, "fexecve")) fexecve(fd, words, environ);
    if (!strncmp(how, "execveat", 8)) execveat(fd, "", words, environ, AT_EMPTY_PATH);
    if (!strcmp(how, "spawn")) {
        pid_t child;
        if (posix_spawn(&child, program, NULL, NULL, words, environ)) return 9;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    char line[4096];
    snprintf(line, sizeof line, "%s read", program);
    if (!strcmp(how, "system")) return WEXITSTATUS(system(line));
    if (!strcmp(how, "popen")) return WEXITSTATUS(pclose(popen(line, "r")));
    return 8;
}

int main(int argc, char **argv) {
    if (argc < 4) return file = 3, read_all(NULL), 7;
    const char *how = argv[1], *what = argv[2], *value = argv[3];
    int status = 7 << 8, is_here = !strcmp(how, "here"), is_thread = !strcmp(how, "thread");
    file = open("w/file", O_RDONLY);
    /* Where programs expect it. */
    if (file != 3 && (dup2(file, 3) != 3 || close(file))) abort();
    file = 3;
    if (is_here || is_thread) act(what, value);
    if (is_here) read_all(NULL);
    if (is_thread) {
        pthread_t thread;
        pthread_create(&thread, NULL, read_all, NULL);
        pthread_join(thread, NULL);
    }
    if (!is_here && !is_thread) {
        pid_t child = fork();
        if (!child) {
            int fd = argc > 4 ? opened(how, argv[4]) : -1;
            act(what, value);
            if (argc > 4) _exit(execute(how, argv[4], fd));
            read_all(NULL);
            _exit(7);
        }
        waitpid(child, &status, 0);
    }
    if (write(1, "done\n", 5) != 5) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
