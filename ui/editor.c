/*
 * editor.c - the draft in the person's own editor; see state.h.
 *
 * The editor has the terminal to itself while the rest of the program goes on: nothing waits for it, SIGCHLD reports
 * its end. Where it stops (Ctrl-Z), the program stops too.
 */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "screen.h"
#include "tty.h"

#include <errno.h>
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

/* The shell's command. The editor takes the shell's place, where it is a plain command: then waitpid reports its stops. */
static void add_command(struct buffer *b)
{
    const char *name = editor_name();
    size_t word = strcspn(name, " \t");
    bool plain = !memchr(name, '=', word) && !strpbrk(name, ";&|()<>`$\n") && strncmp(name, "exec", word) != 0;
    buffer_printf(b, "%s%s \"$1\"", plain ? "exec " : "", name);
}

/* A private file with the draft in it. NULL: could not be written. */
static char *write_file(const char *text)
{
    const char *directory = getenv("TMPDIR");
    struct buffer name = BUFFER_INIT;
    buffer_printf(&name, "%s/chinwag-XXXXXX.md", directory && *directory ? directory : "/tmp");
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
        buffer_free(&name);
        return NULL;
    }
    return buffer_take(&name);
}

static void trim(struct buffer *b)
{
    while (b->len && (b->s[b->len - 1] == '\n' || b->s[b->len - 1] == '\r'))
        buffer_remove(b, b->len - 1, 1);
}

/* What the editor left, without a byte order mark and the line ends after the text. False: there is no file. whole:
 * the file was not longer than is taken. */
static bool read_file(const struct ui *ui, struct buffer *out, bool *whole)
{
    char block[4096];
    size_t n;
    FILE *f = fopen(ui->editor_file, "r");
    if (!f)
        return false;
    while (out->len < MAX_DRAFT && (n = fread(block, 1, sizeof block, f)) > 0)
        buffer_add(out, block, n);
    *whole = fgetc(f) == EOF;
    fclose(f);
    if (out->len >= 3 && !memcmp(out->s, "\xef\xbb\xbf", 3))
        buffer_remove(out, 0, 3);
    trim(out);
    return true;
}

/* Makes what the editor left the draft. An editor that failed may have saved the file before; untouched, it leaves
 * the draft alone. Returns whether the file is no longer needed. */
static bool take_back(struct ui *ui, bool failed)
{
    struct buffer text = BUFFER_INIT;
    bool whole = true, exists = read_file(ui, &text, &whole);
    bool changed = exists && strcmp(text.s, ui->editor_text.s) != 0;
    if (changed || (exists && !failed))
        draft_replace(&ui->draft, text.s, text.len);
    if (!whole)
        ui_flash_format(ui, "the draft has the first %u MB; the whole text is in %s", MAX_DRAFT >> 20,
                        ui->editor_file);
    else if (failed && changed)
        ui_flash_format(ui, "%s ended with an error; what it had saved is the draft", editor_name());
    else if (failed)
        ui_flash_format(ui, "%s failed: the draft is as it was (set $VISUAL or $EDITOR)", editor_name());
    else if (!exists)
        ui_flash(ui, "the editor left no file: the draft is as it was");
    buffer_free(&text);
    return whole;
}

static void remove_file(struct ui *ui)
{
    if (unlink(ui->editor_file) < 0 && errno != ENOENT)
        ui_flash_format(ui, "%s could not be removed", ui->editor_file);
}

/* The editor has ended. */
static void forget_editor(struct ui *ui)
{
    buffer_free(&ui->editor_text);
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
    buffer_set(&ui->editor_text, draft_text(&ui->draft), ui->draft.text.len);
    trim(&ui->editor_text);
    struct buffer command = BUFFER_INIT;
    add_command(&command);
    screen_leave();
    tty_listen(false);
    ui->editor = fork();
    if (ui->editor == 0) {
        signal(SIGPIPE, SIG_DFL); /* programs that ignore it pass that on */
        execl("/bin/sh", "sh", "-c", command.s, "sh", ui->editor_file, (char *)NULL);
        _exit(127);
    }
    buffer_free(&command);
    if (ui->editor < 0) {
        remove_file(ui);
        forget_editor(ui);
        tty_listen(true);
        screen_return(ui->mouse);
        ui_flash(ui, "the editor could not be started");
    }
}

/* Stops with the editor, so that the shell has the terminal, and goes on with it. */
static void stop_with_editor(const struct ui *ui)
{
    tty_stop();
    tty_discard(TTY_SUSPEND | TTY_CONTINUED);
    kill(ui->editor, SIGCONT);
}

void editor_check(struct ui *ui)
{
    int status;
    if (waitpid(ui->editor, &status, WNOHANG | WUNTRACED) != ui->editor)
        return;
    if (WIFSTOPPED(status)) {
        stop_with_editor(ui);
        return;
    }
    tty_listen(true);
    screen_return(ui->mouse);
    ui->dirty = true;
    if (take_back(ui, !WIFEXITED(status) || WEXITSTATUS(status) != 0))
        remove_file(ui);
    forget_editor(ui);
}

/* The program leaves while the editor runs: what was saved in it stays where it is. */
static void keep_file(struct ui *ui)
{
    struct buffer text = BUFFER_INIT;
    bool whole;
    if (read_file(ui, &text, &whole) && strcmp(text.s, ui->editor_text.s) != 0)
        fprintf(stderr, "chinwag: the text from the editor is in %s\r\n", ui->editor_file);
    else
        unlink(ui->editor_file);
    buffer_free(&text);
}

void editor_abandon(struct ui *ui)
{
    if (!ui->editor)
        return;
    int64_t until = clock_ms() + ABANDON_MS;
    kill(ui->editor, SIGTERM);
    kill(ui->editor, SIGCONT);
    while (waitpid(ui->editor, NULL, WNOHANG) == 0) {
        if (clock_ms() >= until) {
            kill(ui->editor, SIGKILL);
            waitpid(ui->editor, NULL, 0);
            break;
        }
        usleep(5000);
    }
    keep_file(ui);
    forget_editor(ui);
}
