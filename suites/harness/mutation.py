"""What became of the mutants: the score of each module, and what no test noticed.

``python suites/harness/mutation.py`` reads the folder ``mutants`` that mutmut leaves. It exits 1 when a mutant survived that
``survivors.yaml`` does not explain, and when that file explains one that is there no longer.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import yaml
from mutmut.mutation.diff_apply import get_diff_for_mutant

EXPLAINED = Path(__file__).with_name("survivors.yaml")
#: exit codes by which mutmut keeps that a test failed on a mutant, or ran out of time
KILLED = {1, 3, 24, 36, 152, -24, 255}


def changed(name, path):
    """The lines that a mutant replaced, and those that it put there, each as one."""
    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    return tuple(" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")


def survivors(folder):
    """module -> how many mutants were killed and made; and (function, was, is) of those that were not."""
    scores, alive = {}, []
    for meta in sorted(folder.rglob("*.meta")):
        path = meta.relative_to(folder).with_suffix("")
        codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        if not codes:
            continue
        scores[path.stem] = Counter(code in KILLED for code in codes.values())
        for name, code in codes.items():
            if code not in KILLED:
                function = name.partition("__mutmut")[0].rpartition(".")[2].removeprefix("xǁ").removeprefix("x_")
                alive.append((f"{path.stem}.{function.replace('ǁ', '.')}", *changed(name, path)))
    return scores, alive


def main():
    scores, alive = survivors(Path("mutants"))
    explained = {(one["in"], one["was"], one["is"]) for one in yaml.safe_load(EXPLAINED.read_text(encoding="utf-8"))}
    for module, score in scores.items():
        print(f"{module:<10} {score[True]:>4} of {score.total():>4} mutants killed  {score[True] / score.total():.1%}")
    unknown = [one for one in alive if one not in explained]
    gone = explained - set(alive)
    for function, was, now in unknown:
        print(f"\nSURVIVED  {function}\n  - {was}\n  + {now}")
    for function, was, now in sorted(gone):
        print(f"\nEXPLAINED, BUT KILLED OR GONE  {function}\n  - {was}\n  + {now}")
    print(f"\nkilled={sum(score[True] for score in scores.values())} mutants={sum(score.total() for score in scores.values())} "
          f"explained={len(alive) - len(unknown)} unexplained={len(unknown)} outdated={len(gone)}")
    return bool(unknown or gone)


if __name__ == "__main__":
    sys.exit(main())
