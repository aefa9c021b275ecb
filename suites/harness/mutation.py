"""What became of the mutants: the score of each module, and what no test noticed.

``python suites/harness/mutation.py`` reads the folder ``mutants`` that mutmut leaves. It exits 1 when a mutant survived that
``survivors.yaml`` does not explain, and when that file explains one that is killed now or there no longer.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import yaml
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code

EXPLAINED = Path(__file__).with_name("survivors.yaml")
#: a mutant that never ends is noticed too
KILLED = ("killed", "timeout")


def changed(name, path):
    """The lines that a mutant replaced, and those that it put there, each as one."""
    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    return tuple(" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")


def outcomes(folder):
    """module -> how many mutants came to which end; and (function, was, is) of those that were not killed."""
    scores, alive = {}, []
    for meta in sorted(folder.rglob("*.meta")):
        path = meta.relative_to(folder).with_suffix("")
        codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        if not codes:
            continue
        scores[path.stem] = Counter(status_by_exit_code[code] for code in codes.values())
        for name, code in codes.items():
            if status_by_exit_code[code] not in KILLED:
                function = name.partition("__mutmut")[0].rpartition(".")[2].removeprefix("xǁ").removeprefix("x_")
                alive.append((f"{path.stem}.{function.replace('ǁ', '.')}", *changed(name, path)))
    return scores, alive


def main():
    scores, alive = outcomes(Path("mutants"))
    explained = {(one["in"], one["was"], one["is"]) for one in yaml.safe_load(EXPLAINED.read_text(encoding="utf-8"))}
    for module, score in scores.items():
        killed, made = sum(score[word] for word in KILLED), score.total()
        others = ", ".join(f"{count} {word}" for word, count in sorted(score.items()) if word != "killed")
        print(f"{module:<10} {killed:>4} of {made:>4} mutants killed, {killed / made:.1%}    {others}")
    unknown = [one for one in alive if one not in explained]
    gone = explained - set(alive)
    for word, these in (("SURVIVED", unknown), ("EXPLAINED, BUT KILLED OR GONE", sorted(gone))):
        for function, was, now in these:
            print(f"\n{word}  {function}\n  - {was}\n  + {now}")
    print(f"\nmutants={sum(score.total() for score in scores.values())} alive={len(alive)} "
          f"explained={len(alive) - len(unknown)} unexplained={len(unknown)} outdated={len(gone)}")
    return bool(unknown or gone or not scores)


if __name__ == "__main__":
    sys.exit(main())
