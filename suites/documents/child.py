"""The process that runs the documents' code: one JSON string of code a line in, one JSON object a line out.

Models are not fetched. Whatever a snippet asks for, it gets all-MiniLM-L6-v2, in training mode, so that what the snippet
itself does about the mode is seen.
"""

import contextlib
import io
import json
import os
import sys
from functools import cache


def run(code):
    """What the code did.

    error: what it raised, in one line, or nothing. printed: its lines. values: its variables that are numbers, texts,
    small arrays or lists of these. loaded: the names that it loaded a tokenizer or a model by. moved: the devices that it
    moved the model to. passes: for each forward pass through the input sublayer or the whole model its part, whether any
    submodule was in training mode, whether inference mode was on, and what was passed in. state: how its variable
    ``hidden`` relates to the last hidden state of its ``batch``.
    """
    stage = _stage() if "transformers" in code else None
    if stage:
        stage.begin()
    printed, namespace, error = io.StringIO(), {"__name__": "__main__"}, ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, "snippet", "exec"), namespace)
        except Exception as raised:
            error = " ".join(f"{type(raised).__name__}: {raised}".split())[:200]
    values = {name: value for name, held in namespace.items() if (value := _plain(held)) is not None}
    found = {"error": error, "printed": printed.getvalue().splitlines(), "values": values, "loaded": [], "moved": [],
             "passes": [], "state": {}}
    return found | stage.seen(namespace) if stage else found


@cache
def _stage():
    return _Stage()


class _Stage:
    """The model and the tokenizer that every snippet gets, and what it does with them."""

    def __init__(self):
        import torch
        import transformers

        from embedding_conformance.subjects.bundled import folder

        torch.set_num_threads(1)
        self.model = transformers.AutoModel.from_pretrained(folder())
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder())
        self.move = self.model.to
        self.model.to = self._to
        self.model.embeddings.register_forward_pre_hook(self._on_input, with_kwargs=True)
        self.model.register_forward_pre_hook(self._on_model, with_kwargs=True)
        transformers.AutoModel.from_pretrained = self._model_named
        transformers.AutoTokenizer.from_pretrained = self._tokenizer_named

    def begin(self):
        self.loaded, self.moved, self.passes = [], [], []

    def seen(self, namespace):
        return {"loaded": self.loaded, "moved": self.moved, "passes": list(self.passes), "state": self._state(namespace)}

    def _model_named(self, name, **options):
        self.loaded.append(name)
        return self.model.train()

    def _tokenizer_named(self, name, **options):
        self.loaded.append(name)
        return self.tokenizer

    def _to(self, device):
        self.moved.append(str(device))
        return self.move(device)

    def _on_input(self, module, args, kwargs):
        self._pass("input", kwargs)

    def _on_model(self, module, args, kwargs):
        self._pass("model", kwargs)

    def _pass(self, part, kwargs):
        import torch

        self.passes.append({"part": part, "training": any(module.training for module in self.model.modules()),
                            "inference": torch.is_inference_mode_enabled(), "given": sorted(kwargs)})

    def _state(self, namespace):
        import torch

        hidden, batch = namespace.get("hidden"), namespace.get("batch")
        if not isinstance(hidden, torch.Tensor) or not hasattr(batch, "keys"):
            return {}
        with torch.inference_mode():
            last = self.model.eval()(**batch).last_hidden_state
        return {"is_last": torch.equal(hidden, last), "requires_grad": hidden.requires_grad,
                "inference": hidden.is_inference()}


def _plain(value):
    """The value as JSON knows it; None for what is none of these or large."""
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return value.tolist() if len(value.reshape(-1)) <= 64 else None
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (bool, int, float, str)) else None


def main():
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not come between the answers
    for line in sys.stdin:
        try:
            answer = run(json.loads(line))
        except Exception as error:
            answer = {"broken": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
