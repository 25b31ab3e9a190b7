#!/usr/bin/env python3
"""Speed and memory of chinwag on this machine, in turns with llama.cpp where it is there, as ratios.

  bench.py [--peer DIR] [--rounds N] [--threads N] [--json FILE] MODEL.gguf...

DIR holds llama-bench. A round runs both engines once, in alternating order, with the bandwidth reading beside them; what is
printed is the median of the rounds' ratios, with its range. Four measurements a model, none of which samples: prefill of 512
tokens, decode of 128 tokens on an empty cache, prefill of 2,048 tokens, decode with 1,800 tokens in the cache. "of the limit"
is decode on an empty cache as a share of bandwidth divided by the bytes of the file's tensors.

Under each decode stands what a chat does there: an answer of 128 tokens sampled by the model's own settings with the fast
output head (engine_session_set_fast_head), its ratio to the peer's decode without sampling, and to the same with the whole head.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#         name, prompt, generated, depth: tokens; the key of chinwag's figure
TESTS = (("prefill 512", 512, 0, 0, "pp_tps"), ("decode", 0, 128, 0, "tg_tps"),
         ("prefill 2048", 2048, 0, 0, "pp_tps"), ("decode at 1800", 0, 128, 1800, "tg_tps"))


def output(command):
    """What a command printed, and its peak resident memory in KB."""
    with tempfile.TemporaryFile("w+") as out:
        p = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            sys.exit(f"{' '.join(map(str, command))}: exit {p.returncode}")
        out.seek(0)
        return out.read(), usage.ru_maxrss


def chinwag(a, model, prompt, generated, depth):
    text, rss = output([a.chinwag, "bench", "-m", model, "-p", prompt, "-n", generated, "-d", depth, "-t", a.threads,
                        *(["--fast-head"] if generated else []), "--json"])
    return json.loads(text), rss


def llama(a, model, prompt, generated, depth):
    text, rss = output([pathlib.Path(a.peer, "llama-bench"), "-m", model, "-p", prompt, "-n", generated, "-d", depth,
                        "-t", a.threads, "-r", 1, "-o", "json"])
    row = json.loads(text)[-1]
    return row["avg_ts"], rss, row["model_size"]


def median_and_range(ratios):
    return {"ratio": statistics.median(ratios), "ratio_range": [min(ratios), max(ratios)]}


def measure(a, model, test):
    """One test's rounds: medians of ours, of the peer's and of their ratio, the ratio's range."""
    name, prompt, generated, depth, key = test
    ours, peers, bandwidth = [], [], []
    size = os.path.getsize(model)
    for i in range(a.rounds):
        def us():
            ours.append(chinwag(a, model, prompt, generated, depth))

        def peer():
            nonlocal size
            speed, kb, size = llama(a, model, prompt, generated, depth)
            peers.append((speed, kb))
        for step in ([peer, us] if i % 2 == 0 else [us, peer]):
            if step is us or a.peer:
                step()
        bandwidth.append(float(output([a.bandwidth, a.threads, 400])[0]))
    info = ours[-1][0]
    result = {"test": name, "tps": statistics.median(o[key] for o, _ in ours), "rss_kb": max(k for _, k in ours),
              "cpu": info["cpu"], "load_ms": info["load_ms"], "ttft_ms": info["ttft_ms"]}
    if a.peer:
        result |= {"peer_tps": statistics.median(s for s, _ in peers),
                   "rss_ratio": statistics.median(o[1] / p[1] for o, p in zip(ours, peers)),
                   **median_and_range([o[key] / p[0] for (o, _), p in zip(ours, peers)])}
    if generated and not depth:
        result["limit_tps"] = statistics.median(b * 1e9 / size for b in bandwidth)
        result["of_limit"] = statistics.median(o[key] * size / (b * 1e9) for (o, _), b in zip(ours, bandwidth))
    if generated:
        result["answer"] = {"tps": statistics.median(o["fast_head_tps"] for o, _ in ours)}
        if all(o["fast_head_share"] > 0 for o, _ in ours):  # 0: these kernels, or this head, have none
            result["answer"] |= {
                "whole_head": median_and_range([o["fast_head_tps"] / o["sampled_tps"] for o, _ in ours]),
                "rows_exact": statistics.median(o["fast_head_share"] for o, _ in ours)}
        if a.peer:
            result["answer"] |= median_and_range([o["fast_head_tps"] / p[0] for (o, _), p in zip(ours, peers)])
    return result


def ratio(r):
    return f"{r['ratio']:5.2f} ({r['ratio_range'][0]:.2f}–{r['ratio_range'][1]:.2f})"


def show(model, results):
    print(f"\n{pathlib.Path(model).name} ({results[0]['cpu']}; load {results[0]['load_ms']:.0f} ms, "
          f"first token {results[0]['ttft_ms']:.0f} ms after the start)")
    for r in results:
        line = f"  {r['test']:15s}{r['tps']:9.1f} tok/s"
        if "ratio" in r:
            line += f"   llama.cpp{r['peer_tps']:8.1f}   ratio {ratio(r)}   memory {r['rss_ratio']:.2f}"
        if "of_limit" in r:
            line += f"   {r['of_limit']:.0%} of the limit"
        print(line)
        if "answer" in r:
            answer = r["answer"]
            line = f"    an answer    {answer['tps']:9.1f} tok/s"
            if "ratio" in answer:
                line += f"{'':20s}ratio {ratio(answer)}"
            print(line + (f"   to the whole head {ratio(answer['whole_head'])}, {answer['rows_exact']:.1%} of its rows exact"
                          if "whole_head" in answer else "   no fast head"))
    sys.stdout.flush()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+")
    ap.add_argument("--chinwag", default=ROOT / "chinwag")
    ap.add_argument("--bandwidth", default=ROOT / "build/tests/bench/bandwidth")
    ap.add_argument("--peer", default="", help="directory of llama-bench")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--json", help="file for the results")
    a = ap.parse_args()
    everything = {}
    for model in a.models:
        everything[pathlib.Path(model).name] = results = [measure(a, model, test) for test in TESTS]
        show(model, results)
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps({"threads": a.threads, "models": everything}, indent=1) + "\n")


if __name__ == "__main__":
    main()
