/* cmd_inspect.c - `chinwag inspect`: what is in a model file, and what it would need here. */
#include "commands.h"
#include "model_notes.h"

#include <getopt.h>
#include <stdio.h>

#define MIB (1024.0 * 1024.0)

static void print_formats(const engine_model *model)
{
    struct engine_format_use uses[16];
    size_t n = engine_model_formats(model, uses, sizeof uses / sizeof *uses);
    for (size_t i = 0; i < n && i < sizeof uses / sizeof *uses; i++)
        printf("  %-8s %4d tensors %9.1f MiB\n", uses[i].name, uses[i].tensors, (double)uses[i].bytes / MIB);
}

static void print_model(const engine_model *model, int n_ctx)
{
    const struct engine_model_info *m = engine_model_info(model);
    if (n_ctx == 0)
        n_ctx = engine_default_context(model);
    printf("name          %s\n", m->name);
    printf("architecture  %s: %d layers, %d wide, feed-forward %d\n", m->architecture, m->n_layers, m->n_embd,
           m->n_ff);
    printf("attention     %d heads, %d for keys and values, %d wide\n", m->n_heads, m->n_kv_heads, m->head_dim);
    printf("parameters    %.1f million\n", (double)m->parameters / 1e6);
    printf("weights       %.1f MiB, mostly %s\n", (double)m->tensor_bytes / MIB, m->quantization);
    print_formats(model);
    printf("tokenizer     %s, %d tokens\n", m->tokenizer, m->n_vocab);
    char note[200];
    bool guessed = model_template_note(m, note, sizeof note);
    printf("template      %s%s%s\n", m->chat_format, guessed ? ": " : "", note);
    if (m->n_ctx_train > 0)
        printf("window        trained on %d tokens\n", m->n_ctx_train);
    else
        printf("window        the file does not say\n");
    printf("memory        %.1f MiB of weights + %.1f MiB of KV cache at -c %d\n", (double)m->tensor_bytes / MIB,
           (double)engine_kv_bytes(model, n_ctx) / MIB, n_ctx);
    printf("kernels       %s, %d threads\n", m->cpu, engine_default_threads());
}

int cmd_inspect(int argc, char **argv)
{
    static const struct option options[] = {{"ctx", required_argument, NULL, 'c'}, {0}};
    int n_ctx = 0;
    const char *path = NULL;
    for (int c; (c = getopt_long(argc, argv, "m:c:", options, NULL)) != -1;) {
        switch (c) {
        case 'm': path = optarg; break;
        case 'c': n_ctx = (int)command_number("-c", optarg, 1, 1 << 24); break;
        default: return command_usage(argv[0]);
        }
    }
    if (!path && optind < argc)
        path = argv[optind++];
    if (!path || optind != argc)
        return command_usage(argv[0]);
    engine_model *model = command_open_model(&(struct engine_model_options){.path = path, .no_repack = true});
    if (!model)
        return 1;
    print_model(model, n_ctx);
    engine_model_close(model);
    return 0;
}
