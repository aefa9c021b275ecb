"""Documents with something changed, and layers without a vector for every token.

A change names the line, as the claims cite it, and no more of its text than is replaced.
"""

import numpy as np

from ...proof import altered, fault, sound


def edited(document, name, *edits):
    """The document with pieces of lines replaced: (line, old, new)."""
    def lines(asked):
        found = document.lines(asked)
        for line, old, new in edits if asked == name else ():
            if old not in found[line - 1]:
                raise ValueError(f"{asked}:{line} does not hold {old!r}")
            found[line - 1] = found[line - 1].replace(old, new)
        return found
    return altered(document, lines=lines)


def reordered(document, name, first, order):
    """The lines from `first` on in another order; what the order leaves out is lost."""
    def lines(asked):
        found = document.lines(asked)
        if asked == name:
            end = first - 1 + max(order) + 1
            found[first - 1:end] = [found[first - 1 + i] for i in order]
        return found
    return altered(document, lines=lines)


# --- does it parse, does it run ----------------------------------------------------------------------------------------


@fault("document", ["DOC-01"])
def string_mended(document):
    """The broken string is printed whole, so that the sixth experiment parses."""
    def lines(asked):
        found = document.lines(asked)
        return [*found[:317], rf"{found[317]}\n{found[318]}", *found[319:]] if asked == "002" else found
    return altered(document, lines=lines)


@fault("document", ["DOC-01", "DOC-02", "CFG-07"])
def bracket_lost(document):
    """The cosine experiment lacks its last bracket."""
    return edited(document, "002", (158, "})", "}"))


@fault("document", ["DOC-01", "DOC-02", "CFG-09", "CFG-10"])
def broken_twice(document):
    """The retrieval experiment has a second error, which mending the string does not repair."""
    return edited(document, "002", (303, "]", ""))


@fault("document", ["DOC-02"])
def import_of_another_snippet(document):
    """The audit step relies on an import that only the snippet before it has."""
    return reordered(document, "002", 53, [1])


@fault("document", ["DOC-02", "CFG-05"])
def constant_of_another_place(document):
    """The learning rate of the audit step is set nowhere."""
    return reordered(document, "002", 58, [1])


@fault("document", ["DOC-02"])
def local_module(document):
    """The cosine experiment also imports a module that no package provides."""
    return edited(document, "002", (148, "", "import plotting"))


@fault("document", ["DOC-02"])
def stops_halfway(document):
    """Every name is defined, but the token that is looked up lies beyond the sentence."""
    return edited(document, "002", (9, "1", "100"))


@fault("document", ["DOC-01", "DOC-02"])
def experiment_lost(document):
    """The cosine experiment is missing, so that there are six."""
    return reordered(document, "002", 147, [12])


@fault("document", ["DOC-03"])
def vocabulary_of_27(document):
    """The example of document 000 has 27 rows, so that its last id has none."""
    return edited(document, "000", (66, "30", "27"))


@fault("document", ["DOC-03"])
def width_not_as_stated(document):
    """The example of document 000 makes vectors of 16 numbers and says that it prints 8."""
    return edited(document, "000", (70, "8", "16"))


@fault("document", ["DOC-03"])
def shape_misstated(document):
    """Document 000 says that 4 vectors are printed where there are 3."""
    return edited(document, "000", (82, "[3", "[4"))


@fault("document", ["DOC-03"])
def half_the_width(document):
    """The example of document 001 has a model width of 256."""
    return edited(document, "001", (60, "512", "256"))


@fault("document", ["DOC-03"])
def other_ids(document):
    """Document 000 looks up other ids than the suites do."""
    return edited(document, "000", (76, "27", "26"))


# --- models ------------------------------------------------------------------------------------------------------------


@fault("document", ["CFG-01"])
def monolingual_model(document):
    """The retrieval experiment names the English model of the same family."""
    return edited(document, "002", (203, "multilingual-", ""))


@fault("document", ["CFG-01"])
def tokenizer_of_another_model(document):
    """The first experiment loads the tokenizer of another model."""
    return edited(document, "002", (11, "MODEL_ID", '"bert-base-uncased"'))


@fault("document", ["CFG-02"])
def left_in_training_mode(document):
    """The model of the map is not put into evaluation mode, so that dropout acts."""
    return edited(document, "002", (176, ".eval()", ""))


@fault("document", ["CFG-02"])
def one_part_in_training_mode(document):
    """The layers of the analogy's model are put back into training mode."""
    return edited(document, "002", (330, '("cpu")', '("cpu"); model.encoder.train()'))


@fault("document", ["CFG-02"])
def wherever_it_is(document):
    """The model of the pooling experiment stays on the device where it was made."""
    return edited(document, "002", (113, '.to("cpu")', ""))


@fault("document", ["CFG-03"])
def with_gradients(document):
    """The retrieval experiment keeps track of gradients."""
    return edited(document, "002", (251, "inference_mode", "enable_grad"))


@fault("document", ["CFG-03"])
def without_gradients_only(document):
    """The pooling experiment switches gradients off and is not in inference mode."""
    return edited(document, "002", (124, "inference_mode", "no_grad"))


@fault("document", ["CFG-12"])
def mask_left_out(document):
    """The retrieval experiment passes the ids alone, so that padding takes part."""
    return edited(document, "002", (252, "**batch", 'batch["input_ids"]'))


@fault("document", ["CFG-12"])
def pooler_output(document):
    """The pooling experiment takes the model's own pooled vector for its states."""
    return edited(document, "002", (125, "last_hidden_state", "pooler_output"))


@fault("document", ["CFG-12"])
def state_before_the_last(document):
    """The map is made from the states of the layer before the last."""
    return edited(document, "002", (180, "batch)", "batch, output_hidden_states=True)"),
                  (180, "last_hidden_state", "hidden_states[-2]"))


# --- inputs ------------------------------------------------------------------------------------------------------------


@fault("document", ["CFG-04"])
def other_word_looked_up(document):
    """The sentence that is looked up is in the plural."""
    return edited(document, "002", (8, "loan", "loans"))


@fault("document", ["CFG-04"])
def other_animal_pooled(document):
    """The sentence that is pooled is about a cat."""
    return edited(document, "002", (110, "kitten", "cat"))


@fault("document", ["CFG-05"])
def other_seed(document):
    """The seed is 18."""
    return edited(document, "002", (56, "17", "18"))


@fault("document", ["CFG-05"])
def one_row_more(document):
    """The table has 7 rows."""
    return edited(document, "002", (57, "6", "7"))


@fault("document", ["CFG-05"])
def other_learning_rate(document):
    """The learning rate is half of what it was."""
    return edited(document, "002", (58, "0.25", "0.125"))


@fault("document", ["CFG-05"])
def ids_in_another_order(document):
    """The last two ids of the second sequence are exchanged."""
    return edited(document, "002", (59, "4, 0", "0, 4"))


@fault("document", ["CFG-05"])
def other_target(document):
    """The target is 1."""
    return edited(document, "002", (60, "0.5", "1.0"))


@fault("document", ["CFG-06"])
def first_state_by_default(document):
    """The pooling experiment takes the first state."""
    return edited(document, "002", (122, '"mean"', '"cls"'))


@fault("document", ["CFG-06"])
def not_normalised_by_default(document):
    """The pooling experiment leaves its vector as long as it is."""
    return edited(document, "002", (136, "True", "False"))


@fault("document", ["CFG-06"])
def choice_renamed(document):
    """The maximum is chosen by another word than the suites use."""
    return edited(document, "002", (130, "max", "maximum"))


@fault("document", ["CFG-07"])
def radians(document):
    """The angle is 34 radians."""
    return edited(document, "002", (149, "deg2rad", "float64"))


@fault("document", ["CFG-07"])
def other_length(document):
    """The second vector is 2.5 long."""
    return edited(document, "002", (151, "2.4", "2.5"))


@fault("document", ["CFG-08"])
def sentences_reordered(document):
    """The first and the third sentence of the map are exchanged."""
    return reordered(document, "002", 166, [2, 1, 0])


@fault("document", ["CFG-08"])
def sentence_lost(document):
    """The map has no sixth sentence."""
    return reordered(document, "002", 171, [1])


@fault("document", ["CFG-08"])
def read_at_the_end(document):
    """The line of the map is read at its end."""
    return edited(document, "002", (185, "0", "1"))


@fault("document", ["CFG-08"])
def towards_the_dog(document):
    """The line of the map leads to the third sentence."""
    return edited(document, "002", (186, "1", "2"))


@fault("document", ["CFG-09"])
def other_query(document):
    """The query asks about another kind of file."""
    return edited(document, "002", (204, "CSV", "JSON"))


@fault("document", ["CFG-09"])
def five_answers(document):
    """Five answers are wanted."""
    return edited(document, "002", (284, "3", "5"))


@fault("document", ["CFG-09"])
def searched_as_they_are(document):
    """Vectors are not normalised before the search."""
    return edited(document, "002", (261, "True", "False"))


@fault("document", ["CFG-10"])
def two_texts_exchanged(document):
    """D1 and D2 stand in the other order."""
    return reordered(document, "002", 206, [*range(6, 12), *range(6)])


@fault("document", ["CFG-10"])
def other_category(document):
    """D4 is filed under pets."""
    return edited(document, "002", (227, "travel", "pets"))


@fault("document", ["CFG-10"])
def other_title(document):
    """D6 has the title of D5."""
    return edited(document, "002", (238, "Kitten couch", "Cat sofa"))


@fault("document", ["CFG-10"])
def one_letter(document):
    """The text of D5 is one letter longer."""
    return edited(document, "002", (234, "cat", "cats"))


@fault("document", ["CFG-11"])
def sentences_first(document):
    """The two sentences stand before the words."""
    return edited(document, "002", (328, "words + contexts", "contexts + words"))


@fault("document", ["CFG-11"])
def word_lost(document):
    """One of the fourteen words is missing."""
    return edited(document, "002", (326, '"monarch",', ""))


@fault("document", ["CFG-11"])
def other_bank(document):
    """The second sentence is about another kind of bank."""
    return edited(document, "002", (327, "river bank", "sand bank"))


@sound("document")
def moved_down(document):
    """Every document begins with three empty lines."""
    return altered(document, lines=lambda name: ["", "", "", *document.lines(name)])


@sound("document")
def without_comments(document):
    """The lines of document 002 that are only comments are left out."""
    return altered(document, lines=lambda name: [line for line in document.lines(name)
                                                 if name != "002" or not line.lstrip().startswith("#")])


@sound("document")
def spaces_at_the_ends(document):
    """Every line of code ends with a space."""
    return altered(document, lines=lambda name: [f"{line} " if line.strip() else line for line in document.lines(name)])


# --- layers ------------------------------------------------------------------------------------------------------------


@fault("layer", ["CONCEPT-04"])
def hashed_into_fewer_rows(layer):
    """Ids are taken modulo one less than the number of rows, so that the last token shares the first one's vector."""
    def lookup(ids):
        layer.lookup(ids)  # what is refused stays refused
        return layer.lookup(np.asarray(ids) % max(len(layer.table()) - 1, 1))
    return altered(layer, lookup=lookup)


@fault("layer", ["CONCEPT-04"])
def one_vector_for_all(layer):
    """Every token gets the vector of token 0."""
    def lookup(ids):
        layer.lookup(ids)
        return layer.lookup(np.asarray(ids) * 0)
    return altered(layer, lookup=lookup)
