/* formats.c - which weight formats a file is made of; see engine.h. */
#include "model.h"

#include <stdlib.h>

static int most_bytes_first(const void *a, const void *b)
{
    const struct engine_format_use *x = a, *y = b;
    return (y->bytes > x->bytes) - (y->bytes < x->bytes);
}

size_t engine_model_formats(const engine_model *model, struct engine_format_use *out, size_t cap)
{
    struct engine_format_use uses[64];
    size_t n = 0;
    for (size_t i = 0; i < gguf_n_tensors(model->file); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(model->file, i);
        const struct quant_layout *format = quant_layout(tensor->type);
        size_t k = 0;
        while (k < n && uses[k].name != format->name)
            k++;
        if (k == n && n < sizeof uses / sizeof *uses)
            uses[n++] = (struct engine_format_use){.name = format->name};
        if (k < n) {
            uses[k].tensors++;
            uses[k].bytes += tensor->bytes;
        }
    }
    qsort(uses, n, sizeof *uses, most_bytes_first);
    for (size_t i = 0; i < n && i < cap; i++)
        out[i] = uses[i];
    return n;
}
