/* paths.c - see paths.h. */
#include "paths.h"

#include "base/buffer.h"
#include "base/mem.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *home(void)
{
    const char *dir = getenv("HOME");
    if (dir && dir[0] == '/')
        return dir;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir ? user->pw_dir : "/";
}

static char *path_in(const char *variable, const char *below_home, const char *rest)
{
    struct buffer path = BUFFER_INIT;
    const char *base = getenv(variable);
    if (base && base[0] == '/')
        buffer_puts(&path, base);
    else
        buffer_printf(&path, "%s/%s", home(), below_home);
    buffer_printf(&path, "/chinwag/%s", rest);
    return buffer_take(&path);
}

char *path_data(const char *rest)
{
    return path_in("XDG_DATA_HOME", ".local/share", rest);
}

char *path_config(const char *rest)
{
    return path_in("XDG_CONFIG_HOME", ".config", rest);
}

char *path_expand(const char *path)
{
    if (strncmp(path, "~/", 2) != 0)
        return mem_string(path);
    struct buffer expanded = BUFFER_INIT;
    buffer_printf(&expanded, "%s%s", home(), path + 1);
    return buffer_take(&expanded);
}
