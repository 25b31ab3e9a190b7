/* owner.c - see owner.h. */
#include "owner.h"
#include "../src/base/mem.h"
#include "store_structs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Open file description locks belong to one store. The fallback, POSIX locks, belongs to the process: two stores of one
 * process do not see each other's locks. */
#ifdef F_OFD_SETLK
#define OWNER_SET F_OFD_SETLK
#define OWNER_GET F_OFD_GETLK
#else
#define OWNER_SET F_SETLK
#define OWNER_GET F_GETLK
#endif

static struct flock byte_of(store_id id)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1};
}

int owner_open(const char *db_path, store_id id, bool *busy, char *err, size_t cap)
{
    char *path = mem_printf("%s-lock", db_path);
    struct flock lock = byte_of(id);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    *busy = false;
    if (fd < 0 || fcntl(fd, OWNER_SET, &lock) != 0) {
        *busy = fd >= 0 && (errno == EAGAIN || errno == EACCES);
        snprintf(err, cap, "%s: cannot be locked: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

int owner_open_read_only(const char *db_path)
{
    char *path = mem_printf("%s-lock", db_path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    free(path);
    return fd;
}

bool owner_exclude(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* l_len 0: all bytes from l_start on */
    return fcntl(fd, OWNER_SET, &lock) == 0;
}

bool owner_alive(int fd, store_id id)
{
    struct flock lock = byte_of(id);
    if (id <= 0 || fd < 0)
        return false;
    /* A failed query counts as alive: a wrong "interrupted" is worse than a late one. */
    return fcntl(fd, OWNER_GET, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool owner_company(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* l_len 0: all bytes from l_start on */
    return fcntl(fd, OWNER_GET, &lock) == 0 && lock.l_type != F_UNLCK;
}
