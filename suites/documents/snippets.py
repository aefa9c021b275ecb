"""The code in the documents: where it stands, what it says without being run. Code that does not parse says nothing."""

import ast
import builtins

#: the experiments of document 002, in their order
LOOKUP, AUDIT_STEP, POOLING, COSINE, MAP, RETRIEVAL, ANALOGY = range(7)
#: those that load a model
WITH_MODEL = (LOOKUP, POOLING, MAP, RETRIEVAL, ANALOGY)
#: what installing the reference stack provides; nothing else is needed, and nothing else is run
MODULES = {"numpy", "torch", "transformers"}


def experiments(lines):
    """The experiments of document 002: each begins with an import after a blank line."""
    starts = [i for i in range(1, len(lines)) if lines[i].startswith(("import ", "from ")) and not lines[i - 1].strip()]
    return ["\n".join(lines[start:end]).rstrip() for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def experiment(document, number):
    """One experiment, repaired; empty where there is none."""
    codes = experiments(document.lines("002"))
    return repaired(codes[number]) if number < len(codes) else ""


def example(lines):
    """The one example of document 000 or 001: from the first import to the last line that prints."""
    code = [i for i, line in enumerate(lines) if line.startswith(("import ", "print("))]
    return "\n".join(lines[code[0]:code[-1] + 1]) if code else ""


def problem(code):
    """Why it does not parse, in the words of Python and without the place; empty where it does."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        return (error.msg or "").partition(" (")[0]
    return ""


def repaired(code):
    """The code with a string that is broken over two lines joined by an escaped line feed."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        lines, at = code.split("\n"), error.lineno or 0
        if problem(code) == "unterminated string literal" and at < len(lines):
            return "\n".join([*lines[:at - 1], rf"{lines[at - 1]}\n{lines[at]}", *lines[at + 1:]])
    return code


def nodes(code, *kinds):
    """The parts of the code of some kinds."""
    return [] if problem(code) else [node for node in ast.walk(ast.parse(code)) if isinstance(node, kinds)]


def imported(code):
    """The packages that it imports."""
    names = [alias.name for node in nodes(code, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes(code, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def undefined(code):
    """The names that it uses and neither binds nor imports; for code without functions, as the documents' is."""
    bound = {name.id for name in nodes(code, ast.Name) if not isinstance(name.ctx, ast.Load)}
    bound |= {(alias.asname or alias.name).partition(".")[0] for alias in nodes(code, ast.alias)}
    return sorted({name.id for name in nodes(code, ast.Name)} - bound - set(dir(builtins)))


def constants(code):
    """Name -> value of everything that is set to a literal."""
    found = {}
    for node in nodes(code, ast.Assign):
        names, value = node.targets[0], literal(node.value)
        if isinstance(names, ast.Name) and value is not None:
            found[names.id] = value
        elif isinstance(names, ast.Tuple) and isinstance(value, tuple):
            found |= {name.id: one for name, one in zip(names.elts, value, strict=True)}
    return found


def arguments(code, function):
    """The first argument of every call of a function or method of this name, None for one that is no literal."""
    calls = [call for call in nodes(code, ast.Call) if call.args]
    return [literal(call.args[0]) for call in calls if ast.unparse(call.func).rpartition(".")[2] == function]


def compared(code, name):
    """The literals that a variable is compared with."""
    return [literal(node.comparators[0]) for node in nodes(code, ast.Compare) if ast.unparse(node.left) == name]


def literal(node):
    """The value of an expression without names, None for any other."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
