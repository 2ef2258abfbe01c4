import numpy as np


def exact(inputs, sizes):
    gate, up = inputs["gate"], inputs["up"]
    result = gate / (1 + np.exp(-gate)) * up
    # What float rounds: the exponent of exp, so an error relative to |gate|, and each product.
    return {"y": (result, np.abs(result) * (1 + np.abs(gate)))}
