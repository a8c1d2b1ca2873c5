/* A library that is loaded before the C library and makes calls on some files fail; see injected.py.

   FAULT_PATH    calls on files whose path contains this text
   FAULT_CALL    read, write, sync or open
   FAULT_AFTER   bytes that are transferred before: of all such files together
   FAULT_ERRNO   the error; 0 for none
   FAULT_MOST    the most bytes that a call transfers; 0 for any number
   FAULT_EINTR   1: every second call is interrupted
   FAULT_LIE     1: in place of the error, a read gives a wrong byte, and a write says that all went well
   FAULT_NOTE    a file to which a byte is appended for each such error */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long transferred;
static atomic_long calls;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static long number(const char *name) { return atol(setting(name)); }

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int path_matches(const char *path) {
    const char *part = setting("FAULT_PATH");
    return *part && path && strstr(path, part) != NULL;
}

static int matches(int fd, const char *call) {
    if (strcmp(setting("FAULT_CALL"), call) != 0) {
        return 0;
    }
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return 0;
    }
    path[length] = 0;
    return path_matches(path);
}

static void note(void) {
    static int (*real_open)(const char *, int, ...);
    static ssize_t (*real_write)(int, const void *, size_t);
    if (!real_open) {
        real_open = real("open");
        real_write = real("write");
    }
    int fd = real_open(setting("FAULT_NOTE"), O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (fd >= 0) {
        (void)!real_write(fd, "x", 1);
        close(fd);
    }
}

#define LIE (-2)

/* The bytes that a call may transfer, or -1 if it must return *result now, or lie if that is LIE. */
static long allowed(int fd, const char *call, size_t bytes, long *result) {
    if (!matches(fd, call)) {
        return (long)bytes;
    }
    if (number("FAULT_EINTR") && atomic_fetch_add(&calls, 1) % 2 == 0) {
        note();
        errno = EINTR;
        *result = -1;
        return -1;
    }
    long most = (long)bytes;
    if (number("FAULT_ERRNO")) {
        long rest = number("FAULT_AFTER") - atomic_load(&transferred);
        if (rest <= 0 && bytes > 0) {
            note();
            if (number("FAULT_LIE")) {
                *result = LIE;
                return -1;
            }
            errno = (int)number("FAULT_ERRNO");
            *result = -1;
            return -1;
        }
        most = rest < most ? rest : most;
    }
    long limit = number("FAULT_MOST");
    if (limit && limit < most) {
        note();
        most = limit;
    }
    return most;
}

static long transfer(long done) {
    if (done > 0) {
        atomic_fetch_add(&transferred, done);
    }
    return done;
}

static ssize_t wrong(void *data, ssize_t done) {
    if (done > 0) {
        *(unsigned char *)data ^= 1;
    }
    return done;
}

#define TRANSFER(name, call, buffer, lie, more, ...)                                                  \
    ssize_t name(int fd, buffer, size_t bytes more) {                                             \
        static ssize_t (*next)(int, buffer, size_t more);                                         \
        if (!next) {                                                                              \
            next = real(#name);                                                                   \
        }                                                                                         \
        long result;                                                                              \
        long most = allowed(fd, call, bytes, &result);                                            \
        if (most < 0) {                                                                           \
            return result == LIE ? lie : result;                                                  \
        }                                                                                         \
        ssize_t done = next(fd, data, (size_t)most __VA_ARGS__);                                  \
        return matches(fd, call) ? transfer(done) : done;                                         \
    }
#define COMMA ,

TRANSFER(read, "read", void *data, wrong(data, next(fd, data, bytes)), )
TRANSFER(pread, "read", void *data, wrong(data, next(fd, data, bytes COMMA at)), COMMA off_t at, COMMA at)
TRANSFER(pread64, "read", void *data, wrong(data, next(fd, data, bytes COMMA at)), COMMA off64_t at, COMMA at)
TRANSFER(write, "write", const void *data, (ssize_t)bytes, )
TRANSFER(pwrite, "write", const void *data, (ssize_t)bytes, COMMA off_t at, COMMA at)
TRANSFER(pwrite64, "write", const void *data, (ssize_t)bytes, COMMA off64_t at, COMMA at)

/* As one buffer: callers must expect short transfers. */
ssize_t readv(int fd, const struct iovec *parts, int count) {
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) {
            return read(fd, parts[i].iov_base, parts[i].iov_len);
        }
    }
    return 0;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) {
            return write(fd, parts[i].iov_base, parts[i].iov_len);
        }
    }
    return 0;
}

/* Copies within the kernel: the caller then reads and writes. */
ssize_t copy_file_range(int in, off64_t *a, int out, off64_t *b, size_t bytes, unsigned flags) {
    (void)in, (void)a, (void)out, (void)b, (void)bytes, (void)flags;
    errno = ENOSYS;
    return -1;
}

static int synced(const char *name, int fd) {
    long result;
    int (*next)(int) = real(name);
    if (matches(fd, "sync")) {
        return allowed(fd, "sync", 1, &result) < 0 ? (result == LIE ? 0 : -1) : next(fd);
    }
    return next(fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }

static int refuses(const char *path) {
    if (strcmp(setting("FAULT_CALL"), "open") != 0 || !path_matches(path)) {
        return 0;
    }
    /* FAULT_AFTER counts calls here. */
    if (atomic_fetch_add(&transferred, 1) < number("FAULT_AFTER")) {
        return 0;
    }
    note();
    errno = (int)number("FAULT_ERRNO");
    return 1;
}

#define OPEN(name)                                                                                \
    int name(const char *path, int flags, ...) {                                                  \
        static int (*next)(const char *, int, ...);                                               \
        if (!next) {                                                                              \
            next = real(#name);                                                                   \
        }                                                                                         \
        va_list more;                                                                             \
        va_start(more, flags);                                                                    \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                   \
        va_end(more);                                                                             \
        return refuses(path) ? -1 : next(path, flags, mode);                                      \
    }

OPEN(open)
OPEN(open64)
