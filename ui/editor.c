/*
 * editor.c - the draft in the person's own editor; see state.h.
 *
 * The editor has the terminal to itself while the rest of the program goes on: nothing waits for it, its end is seen
 * by SIGCHLD.
 */
#include "state.h"

#include "screen.h"
#include "tty.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DRAFT (4u << 20) /* bytes taken back */
#define ABANDON_MS 1000      /* what an editor has to leave by itself */

static const char *editor_name(void)
{
    const char *name = getenv("VISUAL");
    if (!name || !*name)
        name = getenv("EDITOR");
    return name && *name ? name : "vi";
}

/* A private file with the draft in it. NULL: could not be written. */
static char *write_file(const char *text)
{
    const char *directory = getenv("TMPDIR");
    struct buf name = {0};
    buf_printf(&name, "%s/chinwag-XXXXXX.md", directory && *directory ? directory : "/tmp");
    int fd = mkstemps(name.s, 3);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = f && fprintf(f, "%s\n", text) > 0;
    if (f)
        ok = fclose(f) == 0 && ok;
    else if (fd >= 0)
        close(fd);
    if (!ok) {
        if (fd >= 0)
            unlink(name.s);
        buf_free(&name);
    }
    return name.s;
}

static void take_back(struct ui *ui)
{
    struct buf b = {0};
    char block[4096];
    size_t n;
    FILE *f = fopen(ui->editor_file, "r");
    if (!f) {
        ui_flash(ui, "the editor left no file: the draft is as it was");
        return;
    }
    while (b.n < MAX_DRAFT && (n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(&b, block, n);
    fclose(f);
    while (b.n && (b.s[b.n - 1] == '\n' || b.s[b.n - 1] == '\r'))
        buf_remove(&b, b.n - 1, 1);
    draft_replace(&ui->draft, buf_cstr(&b), b.n);
    buf_free(&b);
}

static void forget_file(struct ui *ui)
{
    unlink(ui->editor_file);
    free(ui->editor_file);
    ui->editor_file = NULL;
    ui->editor = 0;
}

void editor_start(struct ui *ui)
{
    if (ui->plain || ui->editor)
        return;
    ui->editor_file = write_file(draft_text(&ui->draft));
    if (!ui->editor_file) {
        ui_flash(ui, "no file for the editor could be written in $TMPDIR");
        return;
    }
    struct buf command = {0};
    buf_printf(&command, "%s \"$1\"", editor_name());
    screen_leave();
    tty_listen(false);
    ui->editor = fork();
    if (ui->editor == 0) {
        signal(SIGPIPE, SIG_DFL); /* programs that ignore it pass that on */
        execl("/bin/sh", "sh", "-c", command.s, "sh", ui->editor_file, (char *)NULL);
        _exit(127);
    }
    buf_free(&command);
    if (ui->editor < 0) {
        forget_file(ui);
        tty_listen(true);
        screen_return(ui->mouse);
        ui_flash(ui, "the editor could not be started");
    }
}

void editor_check(struct ui *ui)
{
    int status;
    if (waitpid(ui->editor, &status, WNOHANG) != ui->editor)
        return;
    tty_listen(true);
    screen_return(ui->mouse);
    ui->dirty = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        take_back(ui);
    else
        ui_flash_format(ui, "%s failed: the draft is as it was (set $VISUAL or $EDITOR)", editor_name());
    forget_file(ui);
}

void editor_abandon(struct ui *ui)
{
    if (!ui->editor)
        return;
    int64_t until = tty_now_ms() + ABANDON_MS;
    kill(ui->editor, SIGTERM);
    while (waitpid(ui->editor, NULL, WNOHANG) == 0) {
        if (tty_now_ms() >= until) {
            kill(ui->editor, SIGKILL);
            waitpid(ui->editor, NULL, 0);
            break;
        }
        usleep(5000);
    }
    forget_file(ui);
}
