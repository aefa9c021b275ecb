"""The documents themselves: what their code does when it is run, and the inputs of their experiments."""
