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

static void print_shape(const struct engine_model_info *m)
{
    printf("architecture  %s", m->architecture);
    if (m->n_layers)
        printf(": %d layers, %d wide, feed-forward %d", m->n_layers, m->n_embd, m->n_ff);
    putchar('\n');
    if (m->n_heads)
        printf("attention     %d heads, %d for keys and values, %d wide\n", m->n_heads, m->n_kv_heads, m->head_dim);
}

static void print_memory(const engine_model *model, const struct engine_session_options *options)
{
    struct engine_session_bytes bytes = engine_session_bytes(model, options);
    double weights = (double)engine_model_info(model)->tensor_bytes / MIB;
    double kv = (double)bytes.kv / MIB, compute = (double)bytes.compute / MIB;
    printf("memory        %.1f MiB: %.1f of weights + %.1f of KV cache at -c %d --kv %s + %.1f of compute buffers\n",
           weights + kv + compute, weights, kv, options->n_ctx, options->kv_type == ENGINE_KV_Q8_0 ? "q8_0" : "f16",
           compute);
    struct engine_memory memory = engine_memory();
    if (memory.most)
        printf("here          %.1f MiB for this process in all, %.1f free now\n", (double)memory.most / MIB,
               (double)memory.available / MIB);
}

static void print_model(const engine_model *model, struct engine_session_options *options)
{
    const struct engine_model_info *m = engine_model_info(model);
    char note[200];
    if (options->n_ctx == 0)
        options->n_ctx = engine_default_context(model);
    printf("name          %s\n", m->name);
    print_shape(m);
    printf("parameters    %.1f million\n", (double)m->parameters / 1e6);
    printf("weights       %.1f MiB, mostly %s\n", (double)m->tensor_bytes / MIB, m->quantization);
    print_formats(model);
    printf("tokenizer     %s, %d tokens\n", m->tokenizer, m->n_vocab);
    bool guessed = model_template_note(m, note, sizeof note);
    printf("template      %s%s%s\n", m->chat_format, guessed ? ": " : "", note);
    if (m->n_ctx_train > 0)
        printf("window        trained on %d tokens\n", m->n_ctx_train);
    else
        printf("window        the file does not say\n");
    if (m->unsupported)
        return;
    print_memory(model, options);
    printf("kernels       %s, %d threads\n", m->cpu, engine_default_threads());
}

int cmd_inspect(int argc, char **argv)
{
    enum { KV = 256 };
    static const struct option options[] = {
        {"ctx", required_argument, NULL, 'c'}, {"kv", required_argument, NULL, KV}, {0}};
    struct engine_session_options session = {0};
    const char *path = NULL;
    for (int c; (c = getopt_long(argc, argv, "m:c:", options, NULL)) != -1;) {
        switch (c) {
        case 'm': path = optarg; break;
        case 'c': session.n_ctx = (int)command_number("-c", optarg, 1, 1 << 24); break;
        case KV: session.kv_type = command_kv_type(optarg); break;
        default: return command_usage(argv[0]);
        }
    }
    if (!path && optind < argc)
        path = argv[optind++];
    if (!path || optind != argc)
        return command_usage(argv[0]);
    engine_model *model =
        command_open_model(&(struct engine_model_options){.path = path, .no_repack = true, .describe = true});
    if (!model)
        return 1;
    print_model(model, &session);
    const char *why = engine_model_info(model)->unsupported;
    int status = why ? command_fail(1, "%s", why) : 0;
    engine_model_close(model);
    return status;
}
