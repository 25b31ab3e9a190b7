/*
 * app.h - the full-screen program: between the screen, the store and the worker.
 *
 * One thread sleeps in poll() on the keyboard and one wake-up pipe, and never waits for the model or the disk. Every
 * message goes to the store as it happens; an answer goes on being written and saved when another conversation is
 * opened meanwhile, and a question asked there waits for it (Esc stops the one being written).
 */
#ifndef APP_H
#define APP_H

#include "options.h"
#include "settings.h"

/* Runs until the person leaves. Takes over the settings' LAYER_STORE, LAYER_LIVE and LAYER_MODEL. The exit status;
 * what went wrong has been said on stderr. */
int app_run(const struct options *options, struct settings *settings);

#endif
