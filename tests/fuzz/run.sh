#!/usr/bin/env bash
# Runs the fuzzing harnesses under AddressSanitizer and UBSan and reports how much of the parsers they reached.
#   tests/fuzz/run.sh [FILES [TEXTS [SEED]]]     default: 20000 mutated files, 100000 random texts; FILES / 4 session files
# FUZZ_BUILD is where it builds (default build/fuzz).
set -eu
cd "$(dirname "$0")/../.."
build=${FUZZ_BUILD:-build/fuzz}
files=${1:-20000} texts=${2:-100000} seed=${3:-1}
flags='-O1 -g -Wno-error -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer --coverage'
make -s BUILD="$build" CFLAGS="$flags" "$build/libengine.a"
find "$build" -name '*.gcda' -delete
for harness in gguf tokenizer session; do
    ${CC:-cc} -std=gnu17 -Wall -Wextra -D_GNU_SOURCE -pthread $flags -o "$build/fuzz_$harness" \
        "tests/fuzz/fuzz_$harness.c" "$build/libengine.a" -lunistring -lm -pthread
done
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
"$build/fuzz_gguf" "$files" "$seed"
"$build/fuzz_tokenizer" "$texts" "$seed"
"$build/fuzz_session" $((files / 4)) "$seed"
if command -v gcov >/dev/null; then
    for file in gguf gguf_parse tokenizer tokenizer_vocab tokenizer_pre tokenizer_merge tokenizer_bpe tokenizer_spm template session_file; do
        gcov -n "$build/engine/$file.gcda" 2>/dev/null | awk -v f="engine/$file.c" \
            'index($0, "'"'"'" f "'"'"'") { getline; sub("Lines executed:", ""); print "figure: coverage of " f ": " $0; exit }'
    done
fi
